"""Reads a JSON list of cases from stdin, answers with what LibreYOLO's doctor finds in each."""

import json
import sys

from libreyolo.doctor import DoctorError, diagnose


def answer(case):
    try:
        report = diagnose(
            case["data"], imgsz=case["imgsz"], fast=case["fast"], progress=False
        )
    except DoctorError as error:
        return {"refused": type(error).__name__}
    return report.to_dict()


cases = json.load(sys.stdin)
output = sys.stdout
sys.stdout = sys.stderr
json.dump([answer(case) for case in cases], output)
