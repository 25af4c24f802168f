"""Tiny folders in the published layouts, made by hand."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from tests.suites.multinet.openx import openx_files

from toolmark.suites.multinet.loaded_rows import LoadedRows
from toolmark.suites.multinet.openx import snapshot_export
from toolmark.suites.multinet.published.odinw import n_classes_by_subset


def travelled(rows: LoadedRows) -> LoadedRows:
    """Return rows as another process gets them."""
    collected: LoadedRows = pickle.loads(pickle.dumps(rows))  # noqa: S301
    return collected


def lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def value(path: Path, collected: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(collected))
    return path


def png(colour: int = 0, kind: str = "PNG") -> bytes:
    out = BytesIO()
    Image.new("RGB", (8, 6), (colour, 20, 30)).save(out, kind)
    return out.getvalue()


def picture(path: Path, colour: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png(colour))
    return path


def piqa(n: int = 12) -> list[dict[str, Any]]:
    return [
        {"id": f"row-{k}", "goal": f"reach {k}", "sol1": f"by {k}", "sol2": f"not {k}",
         "label": k % 2, "line_id": k}
        for k in range(n)
    ]  # fmt: skip


def sqa3d(root: Path, split: str = "public", n: int = 5) -> Path:
    """Questions on scenes 0 and 1, by turns; both have a picture, named in the two ways."""
    words = ["What is left of me?", "Is it dark?", "How many chairs?", "Can I sit?", "Where am I?"]
    asked = [
        {"question_id": 220602000000 + k, "scene_id": f"scene000{k % 2}_00", "question": words[k],
         "situation": f"I stand at {k}.", "alternative_situation": ["SECRET words"]}
        for k in range(n)
    ]  # fmt: skip
    reported = [
        {"question_id": row["question_id"], "scene_id": row["scene_id"], "question_type": "N/A",
         "answer_type": "other", "answers": [{"answer": f"answer {k}", "answer_id": 1},
                                             {"answer": "second", "answer_id": 2}]}
        for k, row in enumerate(asked)
    ]  # fmt: skip
    home = root / "sqa3d" / split
    value(home / "v1_balanced_questions_test_scannetv2.json", {"questions": asked})
    value(home / "v1_balanced_sqa_annotations_test_scannetv2.json", {"annotations": reported})
    picture(home / "scans" / "scene0000_00" / "scene0000_00_vh_clean_2_top_down.png", 100)
    picture(home / "scans" / "scene0001_00_above.png", 200)
    return home


def subset(home: Path, n: int = 4, classes: int | None = None) -> list[dict[str, Any]]:
    """One sub-set of ODinW; ids of its categories are not their places among the classes."""
    name = home.name
    n_classes = classes or n_classes_by_subset().get(name, 3)
    kinds = [{"id": 0, "name": "all", "supercategory": "none"}]
    kinds += [{"id": 7 * (n_classes - k), "name": f"kind {k}", "supercategory": "all"}
              for k in range(n_classes)]  # fmt: skip
    rows = []
    for k in range(n):
        kind = kinds[1 + k % n_classes]
        crop = f"bbox_{k}_photo.jpg"
        rows.append({"bbox_image": crop, "original_image": "photo.jpg", "category_id": kind["id"],
                     "category_name": kind["name"], "bbox": [1, 2, 8, 6], "bbox_id": k,
                     "annotation_id": k, "area": 48.0, "dataset": name})  # fmt: skip
        picture(home / "bbox_images" / crop, k)
    value(home / "categories.json", {"categories": kinds, "num_categories": len(kinds),
                                     "dataset": name})  # fmt: skip
    value(home / "object_caption_pairs.json", rows)
    return rows


def bfcl(n: int = 6) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Conversations of two turns; `path` holds words that stand nowhere else."""
    asked = [
        {"id": f"multi_turn_base_{k}", "line_id": k, "involved_classes": ["GorillaFileSystem"],
         "question": [[{"role": "user", "content": "earlier"},
                       {"role": "user", "content": f"Go to folder {k}."}],
                      [{"role": "user", "content": "Now list what is there."}]],
         "initial_config": {"GorillaFileSystem": {"root": {"home": {"type": "directory"}}}},
         "path": [f"Leak{k}.leaked", "GorillaFileSystem.cd", "GorillaFileSystem.ls"]}
        for k in range(n)
    ]  # fmt: skip
    reported = [{"id": row["id"], "ground_truth": [[f"cd(folder='{k}')"], ["ls(a=True)", "pwd()"]]}
            for k, row in enumerate(asked)]  # fmt: skip
    return asked, reported


def fill(root: Path) -> None:
    """Lay out a folder of each family in the published layout."""
    lines(root / "piqa/public/rows.jsonl", piqa())
    sqa3d(root)
    subset(root / "odinw/public/BCCD")
    said = [{"id": f"e{k}", "group": f"e{k}", "step": 0, "image": png(k), "text": "Q: done?",
             "answer": "yes", "action": None, "is_last": True, "extras": "{}"}
            for k in range(4)]  # fmt: skip
    (root / "openx_multi_embodiment/public").mkdir(parents=True)
    snapshot_export.write_rows(said, root / "openx_multi_embodiment/public/test.parquet")
    openx_files.rlds(
        root / "openx_wheeled_robot", {"train": [[openx_files.drive(k) for k in range(8)]]},
        openx_files.STEP,
    )  # fmt: skip
