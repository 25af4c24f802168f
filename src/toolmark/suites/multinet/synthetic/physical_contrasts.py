"""Properties of things: pairs of opposite goals, and things with which one of them fails.

Each contrast names one physical property. One goal needs things that have it, the opposite goal
needs things that lack it; the rest of the text is the same.
"""

from __future__ import annotations

from typing import NamedTuple


class PhysicalContrast(NamedTuple):
    """A property: the goals that need and forbid it, ways to use a thing, things of both kinds."""

    name: str
    goal: str
    opposite_goal: str
    solution_templates: tuple[str, ...]
    things_with: tuple[str, ...]
    things_without: tuple[str, ...]


# by contrast: its name, goals, ways; things that have the property (+), and that lack it (-)
_CONTRAST_TABLE = """
floats
goal: mark a spot on the surface of a pond
opposite: mark a spot on the bottom of a pond
way: Tie a string to {x} and drop it in.
way: Throw in {x} on a long string.
+ a cork, a pine log, an empty capped bottle, a table tennis ball, a block of foam
+ a life ring
- a steel bolt, a brick, a glass marble, a lead weight, a pebble, a horseshoe

magnetic
goal: find something that a magnet can lift
opposite: find something that a magnet cannot lift
way: Try it with {x}.
way: Hold the magnet over {x}.
+ an iron nail, a steel paper clip, a steel needle, an iron horseshoe, a steel key
+ an iron chain
- a copper coin, a wooden spoon, a gold ring, a glass marble, a rubber band, a plastic button

conducts
goal: close a broken circuit so that the lamp lights up
opposite: plug the gap of a broken circuit so that the lamp stays dark
way: Press {x} between the two bare wire ends.
way: Bridge the two wire ends with {x}.
+ a piece of copper wire, a steel spoon, a strip of aluminium foil, a brass key, an iron nail
+ a silver ring
- a plastic straw, a dry wooden stick, a rubber band, a glass rod, a cotton thread
- a wax crayon

melts
goal: cover the bottom of a pan with a liquid
opposite: warm something in a pan without any liquid forming
way: Put {x} in and heat it gently for ten minutes.
way: Lay {x} in and leave it on a low flame.
+ an ice cube, a stick of butter, a chocolate bar, a wax candle, a lump of lard
+ a scoop of ice cream
- a flat stone, a china saucer, a glass marble, a steel spoon, a brick, an iron nail

absorbs
goal: dry up a puddle of milk on the table
opposite: push a puddle of milk off the table without soaking any of it up
way: Go over it with {x}.
way: Wipe it with {x}.
+ a cotton towel, a sponge, a paper napkin, a wool sock, a bath mat, a flannel cloth
- a plastic ruler, a rubber scraper, a sheet of aluminium foil, a glass plate, a steel spatula
- a plastic card

transparent
goal: close an opening in the wall and still see the garden through it
opposite: close an opening in the wall so that nobody can see in
way: Fix {x} over it.
way: Cover it with {x}.
+ a pane of glass, a clear plastic film, a sheet of clear acrylic, a glass door
+ a clear shower curtain, a pane of clear plastic
- a plywood board, a wool blanket, a sheet of aluminium foil, a piece of cardboard
- a steel plate, a brown paper bag

brittle
goal: get many small pieces for a mosaic
opposite: practise catching with something that survives a miss
way: Let {x} fall from the roof onto the stone yard.
way: Throw {x} high above a stone floor.
+ a wine glass, a china plate, a clay flowerpot, a hand mirror, a porcelain cup, a glazed tile
- a rubber ball, a wool hat, a leather shoe, a tennis ball, a pillow, a beanbag

sharp
goal: split the tape on a parcel
opposite: push down a balloon without bursting it
way: Press {x} firmly against it.
way: Draw {x} across it with some force.
+ a kitchen knife, a razor blade, a shard of glass, a box cutter, a saw blade, a pocket knife
- a rubber eraser, a ball of cotton, a sponge, a felt cap, a ripe banana, a wool mitten

burns
goal: make a small campfire larger
opposite: edge a small campfire with something that will not catch fire
way: Put {x} right into the flames.
way: Lay {x} where the flames touch it.
+ a dry stick, an old newspaper, a cardboard box, a pine cone, a bundle of straw
+ a wooden crate
- a brick, a flat stone, an iron grate, a glass bottle, a clay pot, a steel can

heavy
goal: hold a beach towel down in a strong wind
opposite: top a house of cards without crushing it
way: Lay {x} on it.
way: Rest {x} on the middle of it.
+ a brick, a car tyre, an iron pan, a bag of cement, a stone slab, an anvil
- a feather, a paper tissue, a silk scarf, a ball of cotton, a dry leaf, a sheet of paper

rolls
goal: send something down a gentle ramp without pushing it
opposite: leave something on a gentle ramp so that it stays there
way: Set {x} down at the top and let go.
way: Put {x} on the slope and take your hand away.
+ a marble, a tennis ball, an orange, a toy car, a billiard ball, a roller skate
- a brick, a closed book, a wooden cube, a folded towel, a sponge, a sandbag

dissolves
goal: make something vanish in a glass of warm water
opposite: wash something in a glass of warm water and take it out whole
way: Drop {x} in and stir for five minutes.
way: Put {x} in and wait, stirring now and then.
+ a sugar cube, a spoonful of salt, a spoonful of honey, a fizzy tablet
+ a spoonful of instant coffee, a piece of rock candy
- a glass marble, a steel spoon, a pebble, a plastic button, a coin, a rubber ring

watertight
goal: carry water from the well to a horse
opposite: separate boiled noodles from their water
way: Pour everything into {x}.
way: Fill it all into {x} and lift that up.
+ a tin bucket, a glass jar, a rubber boot, a steel pot, a clay jug, a plastic tub
- a wire basket, a colander, a kitchen sieve, a fishing net, a string bag, a slotted tray

elastic
goal: shoot a paper ball from a forked stick
opposite: hang a heavy picture so that it does not bounce when touched
way: Use {x} for it.
way: Take {x} and fasten it on both sides.
+ a rubber band, a bungee cord, a strip of inner tube, a latex tube, an elastic waistband
+ a coil spring
- a steel wire, a hemp rope, a leather strap, an iron chain, a steel cable, a flax string

insulates
goal: keep the heat of a pan away from a glass table
opposite: let the heat of a pan reach a cold plate below it quickly
way: Put {x} between the two.
way: Set the pan down on {x}.
+ a thick cork mat, a folded towel, a wooden board, a felt pad, a wool blanket
+ a stack of newspapers
- a sheet of aluminium foil, a copper disc, a steel lid, a silver tray, an iron slab
- a brass disc

cold
goal: chill a bottle of juice
opposite: warm up a bottle of juice
way: Leave it {x} for half an hour.
way: Let it stand {x} for a while.
+ in a bucket of snow, in the fridge, in a mountain stream, in a tub of ice
+ in a cool box with ice, on a frozen lake
- next to the fireplace, on the radiator, in a pan of simmering water, under a heat lamp
- in the oven on low, in a hot bath

dries
goal: get a washed shirt dry
opposite: keep a washed shirt damp until it is ironed
way: Leave it {x} for three hours.
way: Put it {x} until the afternoon.
+ on a line in the wind, in front of a fan, over a warm radiator, on a rail in the sun
+ beside the stove, in a running tumble dryer
- in a sealed plastic bag, in a closed jar, in a full laundry tub, under a pile of wet towels
- in a misty cellar, in a tightly shut box

light
goal: read a map on a moonless evening
opposite: change a film that no ray may touch
way: Do it {x}.
way: Unroll it {x}.
+ under a street lamp, beside a lit candle, in front of headlights, by the campfire
+ under a reading lamp, next to a lit torch
- in a shut cupboard, under three thick blankets, in a cellar without lamps, in a locked trunk
- in a lightproof bag, deep in a cave

rings
goal: wake a sleeping camp
opposite: beat time with a spoon without waking anybody
way: Strike {x} a few times.
way: Hit {x} again and again.
+ a steel pot lid, a brass bell, a tin drum, a bronze gong, an empty bucket of tin, a cymbal
- a pillow, a sofa cushion, a wool hat, a loaf of bread, a rolled towel, a sponge

grips
goal: walk up an icy path
opposite: slide down a snowy slope
way: Strap {x} under your boots.
way: Tie {x} below both soles.
+ steel crampons, strips of coarse sandpaper, small chains, pieces of rough rope
+ studded rubber pads, nailed leather straps
- waxed boards, smooth plastic sheets, greased tin strips, polished skis, bars of wet soap
- slick plastic lids

stiff
goal: make a shelf between two stools that holds a cup
opposite: make a sling that wraps snugly around a sore arm
way: Take {x} for it.
way: Do it with {x}.
+ a wooden plank, a steel ruler, a sheet of glass, a baking tray, a slab of stone
+ an oak board
- a cotton towel, a silk scarf, a bed sheet, a paper napkin, a knitted shawl, a piece of gauze

shiny
goal: send flashes of sunlight to a far hill
opposite: line a box so that it throws no light back
way: Use {x} for it.
way: Do it with {x}.
+ a hand mirror, a polished tray, a music disc, a sheet of aluminium foil, a chrome lid
+ a polished blade
- a black felt cloth, a lump of charcoal, a dark towel, a cork mat, a soot-covered board
- a dark wool hat

thin
goal: push something through the slot of a mailbox
opposite: keep a large dog from leaving by the open door
way: Use {x} for it.
way: Take {x} and place it there.
+ a postcard, a letter, a magazine, a sheet of paper, a photograph, a ticket
- a suitcase, a mattress, a wooden crate, an armchair, a barrel, a bookcase

sticky
goal: hold the two halves of a torn page together
opposite: mark a page in a valuable book without harming it
way: Put {x} on the spot.
way: Press {x} onto it.
+ a strip of tape, a drop of glue, a dab of flour paste, a gummed label
+ a piece of chewing gum, a blob of pine resin
- a silk ribbon, a slip of paper, a dry leaf, a wool thread, a linen strip
- a thin cardboard strip
"""


def _parse_contrast(text: str) -> PhysicalContrast:
    name, *lines = text.strip().splitlines()

    def marked_lines(mark: str) -> list[str]:
        return [line.removeprefix(mark).strip() for line in lines if line.startswith(mark)]

    (need,), (forbid,) = marked_lines("goal:"), marked_lines("opposite:")
    having, lacking = (tuple(", ".join(marked_lines(mark)).split(", ")) for mark in "+-")
    return PhysicalContrast(name, need, forbid, tuple(marked_lines("way:")), having, lacking)


CONTRASTS = tuple(_parse_contrast(text) for text in _CONTRAST_TABLE.split("\n\n"))
