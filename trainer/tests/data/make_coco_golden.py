"""Writes coco_golden.json: random boxes and detections, and what pycocotools says of them.

    pip install numpy pycocotools && python make_coco_golden.py
    python make_coco_golden.py --figures < cases.json      # figures of the cases given, to stdout
"""
import contextlib
import io
import json
import pathlib
import sys

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def figures(case):
    """pycocotools' `stats` for the default maximum of 100, and the two other recalls of a maximum of 300."""
    images = [{"id": i, "width": 640, "height": 640} for i in range(case["images"])]
    coco = COCO()
    coco.dataset = {
        "images": images,
        "annotations": [
            # A row may end with an area of its own, and whether it is a crowd.
            {"id": i + 1, "image_id": image, "category_id": c, "bbox": box,
             "area": (rest or [box[2] * box[3]])[0], "iscrowd": int(len(rest) > 1 and rest[1])}
            for i, (image, c, box, *rest) in enumerate(case["truths"])
        ],
        "categories": [{"id": i} for i in range(case["classes"])],
    }
    with contextlib.redirect_stdout(io.StringIO()):
        coco.createIndex()
        found = coco.loadRes([
            {"image_id": image, "category_id": c, "score": score, "bbox": [x1, y1, x2 - x1, y2 - y1]}
            for image, c, score, (x1, y1, x2, y2) in case["detections"]
        ])
        evaluation = COCOeval(coco, found, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
        stats = evaluation.stats.tolist()
        evaluation.params.maxDets = [1, 10, 300]
        evaluation.evaluate()
        evaluation.accumulate()
    mean = lambda values: float(values[values > -1].mean()) if (values > -1).any() else -1.0
    precision, recall = evaluation.eval["precision"], evaluation.eval["recall"]
    return stats + [mean(precision[:, :, :, 0, 2]), mean(recall[:, :, 0, 2])]


def case(seed, images, classes, most_boxes, extra, places):
    """Boxes, and detections near them, twice, elsewhere, and of the wrong class."""
    random = np.random.default_rng(seed)
    single = lambda values: [float(np.float32(v)) for v in values]
    truths, detections = [], []
    for image in range(images):
        for _ in range(random.integers(0, most_boxes + 1)):
            x, y = random.uniform(0, 500, 2)
            w, h = np.exp(random.uniform(np.log(8), np.log(300), 2))
            c = int(random.integers(0, classes))
            truths.append([image, c, [round(float(v), 3) for v in (x, y, w, h)]])
            for _ in range(random.integers(0, 4)):
                shift = random.normal(0, 0.08, 4) * (w, h, w, h)
                guess = c if random.random() < 0.85 else int(random.integers(0, classes))
                corners = single(np.sort((x + shift[0], x + w + shift[2]))), single(np.sort((y + shift[1], y + h + shift[3])))
                score = float(np.float32(round(float(random.random()), places)))
                detections.append([image, guess, score, [corners[0][0], corners[1][0], corners[0][1], corners[1][1]]])
        for _ in range(extra):
            x, y = random.uniform(0, 500, 2)
            w, h = random.uniform(5, 200, 2)
            score = float(np.float32(round(float(random.random()) * 0.6, places)))
            detections.append([image, int(random.integers(0, classes)), score, single((x, y, x + w, y + h))])
    return {"images": images, "classes": classes, "truths": truths, "detections": detections}


def crowded(one):
    """Every third box is a crowd, and areas are those of outlines."""
    truths = [[*row, round(row[2][2] * row[2][3] * 0.6, 3), index % 3 == 0] for index, row in enumerate(one["truths"])]
    return {**one, "truths": truths}


def main():
    if "--figures" in sys.argv:
        print(json.dumps([figures(one) for one in json.load(sys.stdin)]))
        return
    cases = [
        case(0, 6, 3, 6, 4, 5),
        case(1, 12, 2, 10, 3, 1),  # scores of one digit: many ties
        case(2, 3, 5, 2, 2, 5),  # classes without boxes or without detections
        case(3, 2, 1, 8, 140, 4),  # more detections than count
        crowded(case(4, 8, 2, 8, 3, 5)),
    ]
    golden = [{**one, "figures": figures(one)} for one in cases]
    path = pathlib.Path(__file__).with_name("coco_golden.json")
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


main()
