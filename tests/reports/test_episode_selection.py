from __future__ import annotations

from toolmark.reports.episode_block import EpisodeBlock
from toolmark.reports.episode_selection import EpisodeSelection, sampling_rank


def block(size: int) -> EpisodeBlock:
    return EpisodeBlock(list_entry=b"", details=b"x" * (size - 64))


def fill(selection: EpisodeSelection, n: int, size: int = 1000) -> int:
    """Offer n blocks and return how many were made."""
    made = 0

    def make() -> EpisodeBlock:
        nonlocal made
        made += 1
        return block(size)

    for i in range(n):
        selection.offer_episode((0, f"task-{i}", 0), make)
    return made


def test_everything_is_selected_while_it_fits() -> None:
    selection = EpisodeSelection(100_000)
    fill(selection, 100)
    assert selection.n_selected == selection.n_offered == 100


def test_a_full_selection_has_the_lowest_ranks_and_makes_few_others() -> None:
    selection = EpisodeSelection(50_000)
    made = fill(selection, 5_000)
    assert selection.n_selected == 50
    assert selection.size_bytes <= 50_000
    assert made < 600  # about 50 (1 + ln(5000 / 50)): the rest is turned away unmade


def test_the_choice_does_not_depend_on_the_order() -> None:
    keys = [(0, f"task-{i}", 0) for i in range(500)]
    chosen = []
    for order in (keys, keys[::-1]):
        selection = EpisodeSelection(20_000)
        for key in order:
            body = key[1].encode().ljust(936)
            block = EpisodeBlock(list_entry=b"", details=body)
            selection.offer_episode(key, lambda block=block: block)  # type: ignore[misc]
        chosen.append({block.details for block in selection.blocks()})
    assert chosen[0] == chosen[1]
    lowest = sorted(keys, key=sampling_rank)[: len(chosen[0])]
    assert {body.strip().decode() for body in chosen[0]} == {key[1] for key in lowest}


def test_shrinking_lets_the_highest_ranks_go() -> None:
    selection = EpisodeSelection(100_000)
    fill(selection, 100)
    selection.shrink_to(30_000)
    assert (selection.n_selected, selection.n_offered) == (30, 100)


def test_blocks_come_back_in_the_order_offered() -> None:
    selection = EpisodeSelection(100_000)
    for i in range(20):
        block = EpisodeBlock(list_entry=str(i).encode(), details=b"")
        selection.offer_episode((0, str(i), 0), lambda block=block: block)  # type: ignore[misc]
    assert [int(block.list_entry) for block in selection.blocks()] == list(range(20))
