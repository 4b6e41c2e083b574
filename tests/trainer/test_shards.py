"""Which samples a process sees."""

import pytest
import torch
from torch.utils.data import DistributedSampler

from trainer.processes import Place
from trainer.shards import batches, evaluation, order, training

SIZES = [(count, world) for count in (1, 2, 7, 10, 64, 101) for world in (1, 2, 3, 5, 12)]


def _places(world: int) -> list[Place]:
    return [Place(rank=rank, world_size=world) for rank in range(world)]


@pytest.mark.parametrize(("count", "world"), SIZES)
def test_an_epoch_is_what_distributed_sampler_makes(count: int, world: int) -> None:
    for epoch in (1, 2):
        for place in _places(world):
            sampler = DistributedSampler(range(count), world, place.rank, seed=7)  # type: ignore[arg-type]  # it asks for the length only
            sampler.set_epoch(epoch)
            assert training(order(count, 7, epoch), 0, place).tolist() == list(sampler)


def test_epochs_differ() -> None:
    assert order(100, 1, 1).tolist() != order(100, 1, 2).tolist()
    assert sorted(order(100, 1, 2).tolist()) == list(range(100))


@pytest.mark.parametrize(("count", "world"), SIZES)
@pytest.mark.parametrize("then", [1, 2, 3, 4])
def test_another_number_of_processes_goes_on_with_what_is_not_done(count: int, world: int, then: int) -> None:
    whole, batch = order(count, 1, 1), 3
    begun = [training(whole, 0, place)[:batch].tolist() for place in _places(world)]
    seen = min(batch * world, count)
    rest = [training(whole, seen, place).tolist() for place in _places(then)]
    assert len({len(each) for each in rest}) == 1
    assert {each for part in begun for each in part} == set(whole[:seen].tolist())
    assert {each for part in rest for each in part} >= set(whole[seen:].tolist())
    assert sum(map(len, rest)) - (count - seen) < then


def test_as_many_processes_go_on_as_if_nothing_had_been() -> None:
    whole = order(101, 1, 1)
    for place in _places(3):
        assert training(whole, 2 * 8 * 3, place).tolist() == training(whole, 0, place)[2 * 8 :].tolist()


@pytest.mark.parametrize(("count", "world"), SIZES)
def test_an_evaluation_counts_each_sample_once(count: int, world: int) -> None:
    seen = [sample for place in _places(world) for sample in evaluation(count, place).tolist()]
    assert sorted(seen) == list(range(count))


def test_batches_are_of_one_size_but_the_last_and_nothing_makes_none() -> None:
    assert [each.tolist() for each in batches(torch.arange(5), 2)] == [[0, 1], [2, 3], [4]]
    assert list(batches(torch.arange(0), 2)) == []
