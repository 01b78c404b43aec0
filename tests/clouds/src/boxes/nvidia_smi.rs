//! A program on the box's PATH that says of its GPUs what was rented, or what is wrong with them.

use super::{BoxSpec, Gpus};

/// The text of `nvidia-smi` for a box: `-L`, `--query-gpu=… --format=csv,noheader[,nounits]`, and bare.
pub(crate) fn script(spec: &BoxSpec) -> String {
    let lost = match spec.gpu_state {
        Gpus::Good | Gpus::Broken => "",
        Gpus::Lost => {
            "echo 'Unable to determine the device handle for GPU0000:01:00.0: Unknown Error' ; exit 15"
        }
    };
    format!(
        r#"#!/bin/sh
count={count}
name='{name}'
memory={memory}
driver={driver}
if [ "$count" -eq 0 ]; then
  echo 'No devices were found'
  exit 6
fi
if [ "$1" = -L ]; then
  index=0
  while [ $index -lt $count ]; do
    echo "GPU $index: $name (UUID: GPU-{box}-$index)"
    index=$((index + 1))
  done
  exit 0
fi
{lost}
fields= units=yes header=yes
for argument in "$@"; do
  case $argument in
    --query-gpu=*) fields=$(echo "${{argument#*=}}" | tr ',' ' ') ;;
    --format=*nounits*) units= ;;
  esac
  case $argument in --format=*noheader*) header= ;; esac
done
if [ -z "$fields" ]; then
  echo "NVIDIA-SMI $driver    Driver Version: $driver    CUDA Version: 12.8"
  echo "$count x $name, $memory MiB"
  exit 0
fi
[ -z "$header" ] || echo "$fields" | sed 's/ /, /g'
index=0
while [ $index -lt $count ]; do
  line=
  for field in $fields; do
    case $field in
      index) value=$index ;;
      name|gpu_name) value=$name ;;
      uuid|gpu_uuid) value=GPU-{box}-$index ;;
      count) value=$count ;;
      memory.total) value="$memory${{units:+ MiB}}" ;;
      memory.used) value="1${{units:+ MiB}}" ;;
      memory.free) value="$((memory - 1))${{units:+ MiB}}" ;;
      driver_version) value=$driver ;;
      utilization.gpu|utilization.memory) value="0${{units:+ %}}" ;;
      temperature.gpu) value=38 ;;
      compute_cap) value=8.9 ;;
      *) echo "Field \"$field\" is not a valid field to query."; exit 2 ;;
    esac
    line="$line${{line:+, }}$value"
  done
  echo "$line"
  index=$((index + 1))
done
"#,
        count = spec.gpus,
        name = spec.model.replace('\'', ""),
        memory = spec.memory_mb,
        driver = spec.driver,
        box = spec.id,
    )
}
