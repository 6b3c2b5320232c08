"""Devices: the CPU, the simulated ones, and the rules by which arguments name them."""

from __future__ import annotations

import copy
import pickle

import pytest

from candela_xp import _device, settings
from candela_xp._device import CPU, Device, by_name, chosen, devices, shared
from candela_xp._errors import DeviceError


def test_there_is_one_device_unless_the_settings_simulate_more():
    with settings(simulated_devices=1):
        assert devices() == (CPU,)
    with settings(simulated_devices=3):
        assert [str(d) for d in devices()] == ["cpu", "simulated:1", "simulated:2"]
        assert devices()[0] is CPU
    with settings(simulated_devices=16):
        assert len(set(devices())) == 16


def test_a_device_is_the_same_object_whenever_it_is_asked_for():
    with settings(simulated_devices=4):
        first = devices()
    with settings(simulated_devices=4):
        assert all(a is b for a, b in zip(first, devices(), strict=True))
    for device in first:
        assert by_name(str(device)) is device


@pytest.mark.parametrize("index", range(16))
def test_a_device_pickles_and_copies_to_itself_also_where_the_settings_do_not_provide_it(index):
    with settings(simulated_devices=16):
        device = devices()[index]
    with settings(simulated_devices=1):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(device, protocol)) is device
        assert copy.copy(device) is device
        assert copy.deepcopy([device])[0] is device


def test_a_device_prints_its_name_and_equals_itself_only():
    assert str(CPU) == "cpu"
    assert repr(CPU) == "Device('cpu')"
    assert Device("cpu", 0) != CPU
    assert CPU != "cpu"
    assert {CPU: 1}[CPU] == 1


def test_dlpack_knows_the_cpu_and_extension_devices():
    # dlpack.h: kDLCPU = 1, kDLExtDev = 12
    with settings(simulated_devices=3):
        assert [d.dlpack for d in devices()] == [(1, 0), (12, 1), (12, 2)]


def test_an_unknown_name_is_refused_and_the_known_ones_are_listed():
    with settings(simulated_devices=2):
        with pytest.raises(DeviceError, match=r"^no device is called 'gpu'; there are cpu, simulated:1$"):
            by_name("gpu")
        with pytest.raises(ValueError):
            chosen("zeros", "cuda:0")


def test_no_device_means_the_default_one():
    assert chosen("zeros", None) is CPU
    with settings(simulated_devices=2):
        assert chosen("zeros", None, devices()[1]) is devices()[1]


def test_a_device_or_its_name_chooses_it_and_strict_mode_takes_the_device_only():
    with settings(simulated_devices=2):
        other = devices()[1]
        for device in (CPU, other):
            assert chosen("zeros", device) is device
            assert chosen("zeros", str(device)) is device
            with settings(strict=True):
                assert chosen("zeros", device) is device
                with pytest.raises(TypeError, match=f"^zeros: device is the string '{device}'; use the device object"):
                    chosen("zeros", str(device))


@pytest.mark.parametrize("other", [0, 1.0, ("cpu", 0), object()])
def test_what_is_no_device_is_a_type_error_that_names_it(other):
    with pytest.raises(TypeError, match=r"is no device; see candela_xp\.__array_namespace_info__") as caught:
        chosen("zeros", other)
    assert repr(other) in str(caught.value)


def test_a_device_that_the_settings_do_not_provide_is_refused_with_the_setting_that_would():
    with settings(simulated_devices=3):
        third = devices()[2]
    with settings(simulated_devices=2):
        for device in (third, str(third)):
            with pytest.raises(
                DeviceError, match=r"simulated:2 is not among cpu, simulated:1; .*simulated_devices=3\)"
            ):
                chosen("zeros", device)
    with settings(simulated_devices=3):
        assert chosen("zeros", third) is third
    with settings(simulated_devices=1):
        assert chosen("zeros", CPU) is CPU


def test_operands_share_a_device_or_both_are_named():
    with settings(simulated_devices=2):
        other = devices()[1]
    assert shared("add", CPU, CPU) is CPU
    assert shared("add", other, other) is other
    with pytest.raises(DeviceError, match=r"^add: one array is on cpu, the other on simulated:1; use to_device"):
        shared("add", CPU, other)


def test_device_errors_are_value_errors():
    assert issubclass(DeviceError, ValueError)
    assert _device.by_name("cpu") is CPU
