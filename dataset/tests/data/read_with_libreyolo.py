"""What LibreYOLO makes of data sets: the images of a split, their boxes, their stored pixels.

Reads cases as JSON from stdin and writes as many answers as JSON to stdout. LibreYOLO's own trainer and validator
choose what is read; nothing of that is repeated here.
"""

import contextlib
import json
import logging
import sys
import warnings
from pathlib import Path

import cv2

SIZE = 640


def dataset_of(case):
    kwargs = dict(single_cls=case["single_cls"], classes=case["classes"] or None)
    if case["split"] == "train":
        trainer = YOLO9Trainer(
            MODEL.model, wrapper_model=MODEL, data=case["data"], imgsz=SIZE, batch=1, workers=0, device="cpu", **kwargs
        )
        trainer._setup_data()
        return trainer.train_loader.dataset.dataset, trainer.num_classes
    config = ValidationConfig(data=case["data"], split=case["split"], imgsz=SIZE, num_workers=0, **kwargs)
    validator = DetectionValidator(MODEL, config)
    return validator._setup_dataloader().dataset, validator.nc


def answer(case):
    try:
        dataset, classes = dataset_of(case)
    except Exception as error:  # Any refusal is an answer.
        return {"error": f"{type(error).__name__}: {error}"}
    images = []
    for index in range(len(dataset)):
        boxes, (height, width) = dataset.annotations[index][:2]
        scale = min(SIZE / height, SIZE / width)
        rows = [[int(row[4])] + [float(value) / scale for value in row[:4]] for row in boxes]
        path = dataset._image_path(index)
        image = {"path": str(path), "size": [width, height], "boxes": rows}
        if case["pixels"]:
            pixels = cv2.cvtColor(dataset._decode_image(index), cv2.COLOR_BGR2RGB)
            raw = Path(f"{path}.rgb")
            raw.write_bytes(pixels.tobytes())
            image["pixels"] = [str(raw), pixels.shape[1], pixels.shape[0]]
        images.append(image)
    return {"classes": classes, "images": images}


with contextlib.redirect_stdout(sys.stderr):
    from libreyolo import LibreYOLO9
    from libreyolo.models.yolo9.trainer import YOLO9Trainer
    from libreyolo.validation.config import ValidationConfig
    from libreyolo.validation.detection_validator import DetectionValidator

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    MODEL = LibreYOLO9(None, size="t", nb_classes=3, device="cpu")
    answers = [answer(case) for case in json.load(sys.stdin)]
json.dump(answers, sys.stdout)
