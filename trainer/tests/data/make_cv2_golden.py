"""Writes cv2_golden.json: what OpenCV makes of small pictures, for the tests of `data`.

    pip install numpy opencv-python-headless && python make_cv2_golden.py
"""
import json
import pathlib

import cv2
import numpy as np


def picture(width, height):
    """The picture the Rust tests draw with the same formula."""
    x, y, c = np.meshgrid(np.arange(width), np.arange(height), np.arange(3), indexing="xy")
    return ((x * 7 + y * 11 + c * 83 + (x * y * 5) % 97) % 256).astype(np.uint8)


def main():
    resize = []
    for source, target in [
        ((16, 12), (8, 6)), ((17, 13), (8, 6)), ((9, 7), (20, 16)), ((30, 5), (11, 9)),
        ((40, 33), (13, 10)), ((12, 8), (12, 16)), ((5, 5), (1, 1)), ((32, 24), (16, 13)),
    ]:
        out = cv2.resize(picture(*source), target, interpolation=cv2.INTER_LINEAR)
        resize.append({"source": source, "target": target, "pixels": out.ravel().tolist()})

    affine = []
    for angle, scale, shear, shift in [
        (0.0, 0.5, (0.0, 0.0), (0.0, 0.0)), (0.0, 1.37, (0.0, 0.0), (-3.2, 4.6)),
        (0.0, 0.71, (0.0, 0.0), (2.5, -1.25)), (8.0, 0.9, (1.5, -2.0), (1.0, 2.0)),
    ]:
        rotation = cv2.getRotationMatrix2D(angle=angle, center=(0, 0), scale=scale)
        x, y = np.tan(np.radians(shear))
        matrix = np.zeros((2, 3))
        matrix[0] = rotation[0] + y * rotation[1]
        matrix[1] = rotation[1] + x * rotation[0]
        matrix[:, 2] = shift
        out = cv2.warpAffine(picture(32, 24), matrix, dsize=(16, 12), borderValue=(114, 114, 114))
        affine.append({
            "angle": angle, "scale": scale, "shear": shear, "shift": shift,
            "matrix": matrix.ravel().tolist(), "pixels": out.ravel().tolist(),
        })

    hsv = []
    for gains in [(0, 0, 0), (4, -20, 25), (-5, 30, -30), (0, 12, 0), (3, 0, 0)]:
        bgr = np.ascontiguousarray(picture(16, 12)[:, :, ::-1])
        shifted = cv2.cvtColor(bgr, cv2.COLOR_BGR2HSV).astype(np.int16)
        shifted[..., 0] = (shifted[..., 0] + gains[0]) % 180
        shifted[..., 1:] = np.clip(shifted[..., 1:] + np.array(gains[1:], np.int16), 0, 255)
        out = cv2.cvtColor(shifted.astype(np.uint8), cv2.COLOR_HSV2BGR)[:, :, ::-1]
        hsv.append({"gains": gains, "pixels": out.ravel().tolist()})

    golden = {"opencv": cv2.__version__, "resize": resize, "affine": affine, "hsv": hsv}
    path = pathlib.Path(__file__).with_name("cv2_golden.json")
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


main()
