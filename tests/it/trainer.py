"""A training without a model: LibreYOLO's files, one epoch for each that the test lets pass.

usage: trainer.py EPOCHS GATE      (the gate's content is the number of epochs that may be finished)
"""

import json
import os
import sys
import time
import zipfile
from datetime import datetime, timezone

epochs, gate = int(sys.argv[1]), sys.argv[2]
run = os.environ["GPURUN_RUN_DIR"]
weights = os.path.join(run, "weights")
os.makedirs(weights, exist_ok=True)


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S+00:00")


def replace(path, content):
    with open(path + ".part", "w") as part:
        part.write(content)
    os.replace(path + ".part", path)


def status(state, **more):
    document = {
        "schema_version": 1, "state": state, "pid": os.getpid(), "model_family": "none",
        "started_at": started, "updated_at": now(), "total_epochs": epochs, **more,
    }
    replace(os.path.join(run, "status.json"), json.dumps(document, indent=2, sort_keys=True) + "\n")


def checkpoint(name, epoch):
    path = os.path.join(weights, name)
    with zipfile.ZipFile(path + ".part", "w") as archive:
        archive.writestr("archive/data.pkl", f"epoch {epoch}")
        archive.writestr("archive/version", "3\n")
    os.replace(path + ".part", path)


def finished_before():
    """Epochs an earlier process of this run finished: a training that resumes goes on from there."""
    try:
        with open(os.path.join(run, "metrics.jsonl")) as history:
            return sum(1 for _ in history)
    except FileNotFoundError:
        return 0


started = now()
first = finished_before() + 1
status("running", start_epoch=first, current_epoch=None, progress=0.0)
for epoch in range(first, epochs + 1):
    while True:
        try:
            allowed = int(open(gate).read())
        except FileNotFoundError:
            allowed = 0
        if allowed >= epoch:
            break
        time.sleep(0.02)
    print(f"epoch {epoch} of {epochs}", flush=True)
    metric = round(1 - 1 / (1 + epoch), 3)
    checkpoint("last.pt", epoch)
    checkpoint("best.pt", epoch)
    with open(os.path.join(run, "metrics.jsonl"), "a") as history:
        history.write(json.dumps({"epoch": epoch, "time": 0.1, "train/loss": 1 / epoch}) + "\n")
    status("running", current_epoch=epoch, completed_epochs=epoch, eta_seconds=float(epochs - epoch),
           mean_epoch_seconds=0.1, best_epoch=epoch, best_metric=metric, best_metric_name="metrics/mAP50-95",
           progress=epoch / epochs)
status("completed", completed_epochs=epochs, progress=1.0, best_epoch=epochs, best_metric=round(1 - 1 / (1 + epochs), 3),
       best_metric_name="metrics/mAP50-95")
