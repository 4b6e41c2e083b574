"""Which commands download data: not those that upload, ask what is near, or fetch a key or a script."""

import pytest

from jobspec.programs.downloads import download_in


@pytest.mark.parametrize(
    ("script", "program"),
    [
        ("aws s3 sync s3://data /data && python train.py", "aws"),
        ("aws --region us-east-1 s3 cp --recursive s3://data /data", "aws"),
        ("aws s3 ls s3://data", ""),
        ("aws s3 cp train.log s3://logs/train.log", ""),
        ("aws s3 sync s3://a s3://b", ""),
        ("gsutil -m cp gs://data/* /data", "gsutil"),
        ("gsutil -m cp gs://data/* $DATA", "gsutil"),
        ("python train.py | tee train.log && gsutil cp train.log ${OUTPUT}/logs/train-${RANK}.log", ""),
        ("gcloud storage rsync --recursive $SOURCE $TARGET", "gcloud"),
        ("gcloud storage cp --no-user-output-enabled train.log ${OUTPUT}/train.log", ""),
        ("gcloud auth activate-service-account --key-file a", ""),
        ("rclone copy store:data /data", "rclone"),
        ("rclone copy /out store:out", ""),
        ("hf download gpt2", "hf"),
        ("hf auth login --token $HF_TOKEN", ""),
        ("wget https://example.com/data.tar", "wget"),
        ("wget -qO- https://example.com/data.tar | tar x", "wget"),
        ("wget -O - https://example.com/key | gpg --dearmor", ""),
        ("wget --spider https://example.com", ""),
        ("curl -LO https://example.com/data.tar", "curl"),
        ("curl -sSL https://example.com/data.tar -o data.tar", "curl"),
        ("curl --output data.tar https://example.com/data.tar", "curl"),
        ("curl -L https://example.com/data.tar > /data/data.tar", "curl"),
        ("curl -L https://example.com/data.tar | tar xz -C /data", "curl"),
        ("curl -fsS https://example.com/key.gpg | gpg --dearmor > /etc/apt/key.gpg", ""),
        ("curl -LsSf https://astral.sh/uv/install.sh | sh", ""),
        ("curl -s -o /dev/null https://example.com", ""),
        ("until curl -sf http://localhost:8000/health -o health; do sleep 1; done", ""),
        ("if test -e /data; then true; else wget https://example.com/data.tar; fi", "wget"),
        ("python train.py --note 'wget is not run'", ""),
    ],
)
def test_a_script(script: str, program: str) -> None:
    assert download_in(["bash", "-c", script]) == program


def test_a_command_without_a_shell() -> None:
    assert download_in(["/usr/bin/wget", "https://example.com/data.tar"]) == "wget"
    assert download_in(["python", "wget"]) == ""
    assert download_in([]) == ""
