"""Meta-World's environments with a faster step and reset that give the same bits.

Nothing that decides a number is rewritten: a task's reward runs Meta-World's own compiled function, which finds quicker
versions of a few helpers under their usual names. What is new is how an observation is put together, how contacts are
looked up, and that a reset does not simulate what it throws away. Tests compare every number with Meta-World's own.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from functools import cache, cached_property
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from recall_rl.tasks.fast_helpers import norm, rebound

mujoco: Any = importlib.import_module("mujoco")

KNOWN = ("3.1.1",)
"""Versions of Meta-World whose methods are replaced; others run their own code."""

_REBOUND = ("compute_reward", "_gripper_caging_reward", "_get_pos_objects", "_get_quat_objects")
"""Methods that find the quicker helpers."""

_ENVIRONMENT: Any = object
_POINTING_DOWN = np.array([1.0, 0.0, 1.0, 0.0])
_WHOLE = mujoco.mjtState.mjSTATE_INTEGRATION
"""All that decides how a simulation goes on."""


@cache
def hastened(original: Any) -> Any:
    """A class of the same environment with a faster step; the class itself, if it is not one that we know."""
    if importlib.metadata.version("metaworld") not in KNOWN:
        return original
    found = {name: getattr(original, name) for name in _REBOUND}
    methods = {name: rebound(f) for name, f in found.items() if isinstance(f, FunctionType)}
    return type(original.__name__, (_Fast, original), methods)


class _Fast(_ENVIRONMENT):
    """Methods that stand before those of a Meta-World environment in the order of inheritance."""

    _rehearsing = _still = False
    _way: tuple[bytes, Any] | None = None

    @cached_property
    def _views(self) -> SimpleNamespace:
        """Places in the simulator's memory that every step reads or writes."""
        data = self.data
        return SimpleNamespace(
            bodies={},
            sites={},
            hand=data.body("hand").xpos,
            claws=(data.body("rightclaw").xpos, data.body("leftclaw").xpos),
            fingers=(data.site("rightEndEffector").xpos, data.site("leftEndEffector").xpos),
            pads=(data.geom("leftpad_geom").id, data.geom("rightpad_geom").id),
            mocap=data.mocap_pos,
            turn=data.mocap_quat,
            control=data.ctrl,
        )

    def get_body_com(self, body_name: str) -> Any:
        found = self._views.bodies
        if body_name not in found:
            found[body_name] = self.data.body(body_name).xpos
        return found[body_name]

    def _get_site_pos(self, site_name: str) -> Any:
        found = self._views.sites
        if site_name not in found:
            found[site_name] = self.data.site(site_name).xpos
        return found[site_name].copy()

    @property
    def tcp_center(self) -> Any:
        right, left = self._views.fingers
        return (right + left) / 2.0

    def get_endeff_pos(self) -> Any:
        return self._views.hand

    def touching_object(self, object_geom_id: int) -> Any:
        """Whether both pads press on the object; the forces are added up in the order of the contacts."""
        contact, force, pads = self.data.contact, self.data.efc_force, self._views.pads
        pressed: list[Any] = [0, 0]
        for k, pair in enumerate(contact.geom.tolist()):
            if object_geom_id in pair:
                for side in (0, 1):
                    if pads[side] in pair:
                        pressed[side] = pressed[side] + force[contact.efc_address[k]]
        return pressed[0] > 0 and pressed[1] > 0

    def set_xyz_action(self, action: Any) -> None:
        views = self._views
        views.mocap[:] = (views.mocap + (action.clip(-1, 1) * self.action_scale)[None]).clip(
            self.mocap_low, self.mocap_high
        )
        views.turn[:] = _POINTING_DOWN

    def do_simulation(self, ctrl: Any, n_frames: int) -> None:
        if not self._still:
            self._views.control[:] = ctrl
            # No mj_rnePostConstraint after it: nothing reads the forces that it works out.
            mujoco.mj_step(self.model, self.data, nstep=n_frames)

    def _get_curr_obs_combined_no_goal(self) -> Any:
        views = self._views
        right, left = views.claws
        where, turn = self._get_pos_objects(), self._get_quat_objects()
        seen = np.zeros(18)
        seen[:3] = views.hand
        seen[3] = min(max(norm(right - left) / 0.1, 0.0), 1.0)
        seen[4:7], seen[7:11] = where[:3], turn[:4]
        if len(where) > 3:
            seen[11:14], seen[14:18] = where[3:], turn[4:]
        return seen

    def _get_obs(self) -> Any:
        goal = self._get_pos_goal()
        now = self._get_curr_obs_combined_no_goal()
        seen = np.concatenate((now, self._prev_obs, np.zeros_like(goal) if self._partially_observable else goal))
        self._prev_obs = now
        return seen

    def step(self, action: Any) -> Any:
        """One step, as Meta-World makes it."""
        if (
            type(action) is not np.ndarray
            or len(action) != 4
            or self.curr_path_length >= self.max_path_length
            or not self._set_task_called
        ):
            return super().step(action)
        self.set_xyz_action(action[:3])
        self.do_simulation((action[3], -action[3]), self.frame_skip)
        self.curr_path_length += 1
        # The marks of goals need not be put back first: this works them out again.
        mujoco.mj_forward(self.model, self.data)
        space = self.sawyer_observation_space
        self._last_stable_obs = seen = self._get_obs().clip(space.low, space.high)
        reward, info = self.evaluate_state(seen, action)
        return seen.copy(), reward, False, self.curr_path_length == self.max_path_length, info

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        """Begin an episode.

        Meta-World sets the scene twice. Of the first time only random draws and places of bodies outlast
        mj_resetData, so it is a rehearsal in which nothing moves.
        """
        self.curr_path_length = 0
        self._rehearsing = True
        self.reset_model()
        self._rehearsing = False
        mujoco.mj_resetData(self.model, self.data)
        seen = self.reset_model()
        self._prev_obs = seen[:18].copy()
        seen[18:36] = self._prev_obs
        return seen, {}

    def _reset_hand(self, steps: int = 50) -> None:
        """Bring the hand to its place, as mj_resetData left it; if all bodies stand as the last time, by one step."""
        move = super()._reset_hand
        key = self.model.body_pos.tobytes() + np.asarray(self.hand_init_pos).tobytes()
        if not self._rehearsing and self._way is not None and self._way[0] == key:
            mujoco.mj_setState(self.model, self.data, self._way[1], _WHOLE)
            move(1)
        elif self._rehearsing:
            self._still = True
            move(steps)
            self._still = False
        else:
            move(steps - 1)
            state = np.empty(mujoco.mj_stateSize(self.model, _WHOLE))
            mujoco.mj_getState(self.model, self.data, state, _WHOLE)
            self._way = key, state
            move(1)
