"""Writes yolox_golden.safetensors, yolox_golden.json and yolox_keys.txt: what LibreYOLO's YOLOX computes.

    pip install libreyolo==1.6.0 safetensors && python make_yolox_golden.py

Weights and images are a formula of their index, so that no file has to hold them.
"""
import json
import math
import pathlib

import numpy
import torch
from libreyolo.data.augment import yolox as augment
from libreyolo.models.yolox.nn import LibreYOLOXModel
from libreyolo.training.ema import ModelEMA
from libreyolo.training.scheduler import WarmupCosineScheduler
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
CLASSES, SIDE = 3, 128
# Class, then centre and sides in pixels; the first two boxes of the first image want the same anchors.
TARGETS = [
    [[0, 40.0, 44.0, 48.0, 40.0], [2, 44.0, 44.0, 44.0, 44.0], [1, 96.0, 88.0, 20.0, 30.0]],
    [],
    [[1, 64.0, 64.0, 120.0, 112.0], [0, 10.0, 118.0, 7.0, 5.0]],
]


def noise(shape, row):
    """Numbers in [0, 1) that look random: of a tensor's index and of its number."""
    count = math.prod(shape)
    waves = torch.sin(torch.arange(count, dtype=torch.float64) * 12.9898 + row * 78.233) * 43758.5453
    return (waves - waves.floor()).reshape(shape)


def model_of(size):
    model = LibreYOLOXModel(config=size, nb_classes=CLASSES)
    for row, (name, tensor) in enumerate(model.state_dict().items()):
        u = noise(tensor.shape, row)
        if name.endswith("num_batches_tracked"):
            continue
        if tensor.dim() == 4:
            u = (2 * u - 1) * math.sqrt(3 / math.prod(tensor.shape[1:]))
        elif name.endswith("running_var") or name.endswith("bn.weight"):
            u = 0.75 + 0.5 * u
        else:
            u = 0.2 * (2 * u - 1)
        tensor.copy_(u)
    return model


def labels():
    rows = max(len(boxes) for boxes in TARGETS)
    padded = torch.zeros(len(TARGETS), rows, 5)
    for image, boxes in enumerate(TARGETS):
        for row, box in enumerate(boxes):
            padded[image, row] = torch.tensor(box)
    return padded


def losses(model, l1, compute):
    """The loss with its parts, and what was assigned."""
    model.train()
    model.head.use_l1 = l1
    assigned, original = [], model.head.get_assignments

    def spy(image, *rest, **named):
        found = original(image, *rest, **named)
        _, mask, ious, rows, _ = found
        for anchor, iou, row in zip(mask.nonzero()[:, 0].tolist(), ious.tolist(), rows.tolist()):
            assigned.append([image, anchor, row, iou])
        return found

    model.head.get_assignments = spy
    found = compute(model)
    model.head.get_assignments = original
    names = ["total_loss", "iou_loss", "obj_loss", "cls_loss", "l1_loss"]
    return found["total_loss"], [float(torch.as_tensor(found[name]).detach()) for name in names], assigned


def near_targets():
    """Raw outputs whose boxes lie about the targets, so that targets share anchors and take several."""
    levels = []
    for level, stride in enumerate([8, 16, 32]):
        cells = SIDE // stride
        raw = 2 * noise((len(TARGETS), 5 + CLASSES, cells, cells), level + 1) - 1
        raw[:, :4] *= 0.3
        for image, boxes in enumerate(TARGETS):
            for y in range(cells):
                for x in range(cells):
                    centre = torch.tensor([(x + 0.5) * stride, (y + 0.5) * stride])
                    distances = [float((torch.tensor(box[1:3]) - centre).norm()) for box in boxes]
                    if not boxes:
                        continue
                    _, cx, cy, w, h = boxes[distances.index(min(distances))]
                    raw[image, 0, y, x] += cx / stride - x
                    raw[image, 1, y, x] += cy / stride - y
                    raw[image, 2, y, x] += math.log(w / stride)
                    raw[image, 3, y, x] += math.log(h / stride)
        levels.append(raw.float())
    return levels


def loss_of_raw(model, levels):
    """The loss of raw outputs."""
    head, outputs, grids, strides, origins = model.head, [], [], [], []
    for level, (raw, stride) in enumerate(zip(levels, [8, 16, 32])):
        origins.append(raw[:, :4].permute(0, 2, 3, 1).reshape(len(raw), -1, 4).clone())
        output, grid = head.get_output_and_grid(raw.clone(), level, stride, None)
        outputs.append(output)
        grids.append(grid)
        strides.append(torch.full((1, grid.shape[1]), float(stride)))
    xs, ys = [grid[:, :, 0] for grid in grids], [grid[:, :, 1] for grid in grids]
    return head.get_losses(None, xs, ys, strides, labels(), torch.cat(outputs, 1), origins, torch.float32)


def trajectory(model, images):
    """Losses of two steps as LibreYOLO takes them, and the average afterwards."""
    groups = [[], [], []]
    for _, module in model.named_modules():
        if isinstance(getattr(module, "bias", None), torch.nn.Parameter):
            groups[2].append(module.bias)
        if isinstance(module, torch.nn.BatchNorm2d):
            groups[0].append(module.weight)
        elif isinstance(getattr(module, "weight", None), torch.nn.Parameter):
            groups[1].append(module.weight)
    decays = [0.0, 5e-4, 0.0]
    groups = [{"params": params, "weight_decay": decay} for params, decay in zip(groups, decays)]
    optimizer = torch.optim.SGD(groups, lr=0.01, momentum=0.9, nesterov=True)
    ema = ModelEMA(model, decay=0.9998)
    steps = []
    for rate in [1e-5, 2e-5]:
        for group in optimizer.param_groups:
            group["lr"] = rate
        total, parts, _ = losses(model, False, lambda model: model(images, labels()))
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        ema.update(model)
        steps.append(parts)
    total = sum(p.double().sum().item() for p in model.parameters())
    average = sum(t.double().sum().item() for t in ema.ema.state_dict().values() if t.is_floating_point())
    return {"steps": steps, "sum_params": total, "sum_ema": average}


def picture(width, height):
    """As `make_cv2_golden.py` draws it."""
    y, x, channel = numpy.mgrid[:height, :width, :3]
    return ((x * 7 + y * 11 + channel * 83 + (x * y * 5) % 97) % 256).astype(numpy.uint8)


def mixup(factor, mirrored, top, left):
    """A picture of 24 x 20 with one of 24 x 16 blended in, by draws that are told."""

    class Partner:
        def __len__(self):
            return 1

        def load_anno(self, _):
            return numpy.array([[2.0, 3.0, 14.0, 12.0, 1.0], [20.0, 0.0, 24.0, 16.0, 2.0]])

        def pull_item(self, index):
            return picture(24, 16), self.load_anno(index), None, None

    class Draws:
        uniforms = iter([factor, 0.75 if mirrored else 0.25])
        # The partner's index, and offsets where it is larger.
        integers = iter([0] + ([top, left] if factor > 1 else []))

        def uniform(self, *_):
            return next(self.uniforms)

        def randint(self, *_):
            return next(self.integers)

    augment.random = Draws()
    dataset = augment.MosaicMixupDataset(Partner(), (20, 24))
    image, labels = dataset._mixup(picture(24, 20), numpy.zeros((0, 5)))
    draws = {"factor": factor, "mirrored": mirrored, "top": top, "left": left}
    return {**draws, "pixels": image.flatten().tolist(), "boxes": labels[:, [4, 0, 1, 2, 3]].tolist()}


def main():
    torch.set_num_threads(1)
    tensors, facts, keys = {}, {}, []
    images = (noise((len(TARGETS), 3, SIDE, SIDE), 0) * 255).float()
    with torch.no_grad():
        models = {size: model_of(size) for size in "nts"}
    for size, model in models.items():
        keys.append(f"# size {size}")
        for name, tensor in model.state_dict().items():
            keys.append(f"{name}\t{list(tensor.shape)}\t{str(tensor.dtype).removeprefix('torch.')}")
        model.eval()
        with torch.no_grad():
            for level, raw in enumerate(model(images[:1] / 255)):
                tensors[f"{size}_eval_{level}"] = raw.contiguous()
            model.head.export = True
            tensors[f"{size}_export"] = model(images[:1] / 255)
            model.head.export = False
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        facts[size] = {}
        for name, l1 in [("plain", False), ("l1", True)]:
            model.load_state_dict(state)
            model.zero_grad()
            total, parts, assigned = losses(model, l1, lambda model: model(images, labels()))
            total.backward()
            norms = [float(parameter.grad.norm()) for parameter in model.parameters()]
            facts[size][name] = {"parts": parts, "assigned": assigned, "gradient_norms": norms}
        model.load_state_dict(state)
        facts[size]["trajectory"] = trajectory(model, images)
    levels = near_targets()
    total, parts, assigned = losses(models["n"], True, lambda model: loss_of_raw(model, levels))
    facts["near_targets"] = {"parts": parts, "assigned": assigned}
    for level, raw in enumerate(levels):
        tensors[f"near_targets_{level}"] = raw
    facts["mixup"] = [mixup(0.5, False, 0, 0), mixup(0.75, True, 0, 0), mixup(1.5, True, 3, 5)]
    schedule = WarmupCosineScheduler(0.01, 2, 12, warmup_epochs=2, warmup_lr_start=1e-4, plateau_epochs=3)
    facts["lr_table_12ep_2it"] = [[step, schedule.update_lr(step)] for step in range(25)]
    save_file(tensors, HERE / "yolox_golden.safetensors")
    (HERE / "yolox_golden.json").write_text(json.dumps(facts) + "\n")
    (HERE / "yolox_keys.txt").write_text("\n".join(keys) + "\n")


if __name__ == "__main__":
    main()
