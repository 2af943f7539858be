"""Contract of a candidate for the limiting resource.

Signs are utilisation, saturation and errors of a resource (Gregg, "Thinking Methodically about Performance",
ACM Queue 10(12), 2012), and the states of threads and sessions (Gregg, "Systems Performance", 2nd edition,
5.4.1: thread state analysis). By the utilisation law the resource that limits throughput is the one whose
utilisation approaches 1 (Denning and Buzen, "The Operational Analysis of Queueing Network Models", 1978).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loadcell.analysis.trials import Trial
from loadcell.analysis.validity import MOST_FAILED
from loadcell.design.search.model import SUSTAINED_SHARE
from loadcell.model import gc_pauses, jvm_samples
from loadcell.model.message import Count, Message, MessageCode, Number, Share
from loadcell.model.resources import ControlGroupUse, ProcessUse, Resources, ThreadUse

#: Utilisation from which a resource is at its limit. Counters of CPU time have ticks of 10 ms, and a closed
#: loop leaves short gaps between requests.
AT_LIMIT = 0.9
#: CPU of the whole machine that leaves nothing to either side.
HOST_AT_LIMIT = 0.95
#: Of two busy threads in series the one with the higher utilisation is the bottleneck (utilisation law), by
#: this difference at least: trials of one treatment differ by less.
LEAD = 0.03
#: Share of the time of requests, or of instants, from which on they mostly waited for one thing.
MOSTLY = 0.5
#: Requirements of conditions that are not met.
NEEDS_SHARE = MessageCode("limit.needs.share", "info", needed_share=Share)
NEEDS_MOSTLY = MessageCode("limit.needs.mostly", "info", needed_share=Share, looks=Count)
NEEDS_SAMPLES = MessageCode("limit.needs.samples", "info", looks=Count)
NEEDS_FULL = MessageCode("limit.needs.full", "info", full_share=Share)
NEEDS_FULL_OR_WAITING = MessageCode(
    "limit.needs.full-or-waiting",
    "info",
    full_share=Share,
    saturated_share=Share,
    mostly_share=Share,
    waiting_share=Share,
)
NEEDS_HALF = MessageCode("limit.needs.half", "info", cores=Number)
NEEDS_QUOTA_LEFT = MessageCode("limit.needs.quota-left", "info")
NEEDS_DEMAND = MessageCode("limit.needs.demand", "info")
#: State of the machine's CPU, as a part of evidence.
MACHINE_BUSY = MessageCode("limit.machine.busy", "info", busy_share=Share)
MACHINE_STOLEN = MessageCode("limit.machine.stolen", "info", busy_share=Share, steal_share=Share)
#: Steal time from which on it is stated.
_STEAL_SHOWN = 0.005
#: Quantile of the normal distribution for a one-sided confidence of 95%.
_Z = 1.645


def is_most(share: float, looks: float) -> bool:
    """True if a share of `looks` instants is above one half with a confidence of 95%.

    By the lower bound of Wilson's score interval ("Probable inference", JASA 22, 1927): 3 of 3 are enough,
    15 of 20, 60 of 100.

    A share that is the mean of values between 0 and 1, such as `Evidence.blocked_share`, is no proportion:
    the bound is then a heuristic threshold. It is wide enough for independent values, whose variance is at
    most that of a proportion (Bhatia and Davis, "A better bound on the variance", American Mathematical
    Monthly 107, 2000).
    """
    if looks <= 0:
        return False
    centre = share + _Z**2 / (2 * looks)
    spread = _Z * (share * (1 - share) / looks + _Z**2 / (4 * looks**2)) ** 0.5
    return bool((centre - spread) / (1 + _Z**2 / looks) > MOSTLY)


def _failures_in_flight(trial: Trial) -> float | None:
    """Mean number of failing requests in progress; None if their times are unknown."""
    if trial.failed_mean_ms is None or not trial.duration_s:
        return None
    return trial.failed / trial.duration_s * trial.failed_mean_ms / 1e3


def _paused_share(trial: Trial) -> float | None:
    """Share of the measurement in pauses of a collector: of the GC log, else of the sampled counters."""
    share = trial.figures.get(gc_pauses.SHARE)
    if share is not None:
        return share
    times = [trial.figures.get(key) for key in (jvm_samples.YOUNG_GC_TIME, jvm_samples.FULL_GC_TIME)]
    if not trial.duration_s or all(time is None for time in times):
        return None
    return sum(time or 0.0 for time in times) / 1e3 / trial.duration_s


@dataclass(frozen=True)
class Evidence:
    """The record of one trial: resources, and the load in the terms of Little's law.

    `in_flight` is the mean number of requests in progress, by throughput times mean response time (Little,
    1961) of successes and failures, at most what the clients can have; where these are not known, that
    maximum. It is None if neither is known, and of an open loop with many failures, whose service times are
    not recorded. `achieved_share`
    is achieved over offered throughput of an open loop, None of a closed one. `resting_share` is the share of
    the clients' time in pauses that the plan asks for. `paused_share` is the share of the measurement in
    pauses of a collector, by the GC log or the samples of a JVM; None without them.
    """

    used: Resources
    in_flight: float | None = None
    achieved_share: float | None = None
    resting_share: float = 0.0
    paused_share: float | None = None

    @staticmethod
    def of(trial: Trial) -> Evidence | None:
        """None of a trial without a record of its resources."""
        if trial.resources is None:
            return None
        most = trial.clients * trial.pipeline if trial.clients is not None and trial.is_bounded else None
        in_flight: float | None = most
        mean_ms = (trial.service or trial.response or {}).get("mean_ms")
        loop = trial.open_loop
        if mean_ms is not None and trial.throughput_per_s:
            in_flight = trial.throughput_per_s * mean_ms / 1e3  # each request of a pipeline counts
            if trial.failed > MOST_FAILED * (trial.succeeded + trial.failed):
                failures = None if loop is not None else _failures_in_flight(trial)
                in_flight = None if failures is None else in_flight + failures
            in_flight = in_flight if most is None or in_flight is None else min(in_flight, most)
        achieved = None if loop is None else loop.achieved_share
        seconds = (trial.clients or 0) * (trial.duration_s or 0.0)
        resting = trial.resting_s / seconds if seconds else 0.0
        return Evidence(trial.resources, in_flight, achieved, resting, _paused_share(trial))

    @property
    def is_satisfied(self) -> bool:
        """True if waits make requests longer, not fewer: in an open loop that completed its rate, and where
        clients pause nearly all the time, since without any wait they send 1 / `resting_share` times as many.
        """
        share = self.resting_share if self.achieved_share is None else self.achieved_share
        return share >= SUSTAINED_SHARE

    @property
    def host_busy(self) -> float:
        """CPU use of the machine, 0 to 1; 0 if unknown."""
        return 0.0 if self.used.host.cpu is None else self.used.host.cpu.busy

    @property
    def host_wanted(self) -> float:
        """The same with steal time: CPU time that tasks used or were ready to use."""
        return 0.0 if self.used.host.cpu is None else min(1.0, self.host_busy / self.granted_share)

    @property
    def machine(self) -> Message:
        """CPU use of the machine, with steal time if there was any."""
        steal = 0.0 if self.used.host.cpu is None else self.used.host.cpu.steal
        if steal < _STEAL_SHOWN:
            return MACHINE_BUSY(busy_share=self.host_busy)
        return MACHINE_STOLEN(busy_share=self.host_busy, steal_share=steal)

    @property
    def granted_share(self) -> float:
        """Share of the CPU time which tasks of this machine were ready to use that they got, 0 to 1: the rest
        is steal time, which the hypervisor gave to other virtual machines.
        """
        cpu = self.used.host.cpu
        return 1.0 if cpu is None or not cpu.busy else cpu.busy / (cpu.busy + cpu.steal)

    @property
    def target_cores(self) -> float:
        """Cores in use by the target; 0 if unknown."""
        return 0.0 if self.used.served is None else self.used.served.cores

    @property
    def client_cores(self) -> float:
        """Cores in use by the client apart from the target; 0 if unknown."""
        return 0.0 if self.used.client is None or self.used.in_client else self.used.client.cores

    @property
    def is_host_full(self) -> bool:
        """True if the CPU of the whole machine leaves nothing to either side: by its utilisation, or by a
        utilisation of `AT_LIMIT` and saturation, where tasks mostly waited for a core (PSI).
        """
        return self.host_wanted >= (AT_LIMIT if self.is_host_saturated else HOST_AT_LIMIT)

    @property
    def is_host_saturated(self) -> bool:
        """True if some task waited for a core most of the time (PSI)."""
        pressure = self.used.host.pressure
        return pressure is not None and (pressure.cpu or 0.0) > MOSTLY

    @property
    def waiting_capacity(self) -> float | None:
        """Number of requests that threads of the target may wait for at once: those in flight, at most one a
        working thread.
        """
        working = None if self.used.served is None else self.used.served.working_threads
        return min((value for value in (self.in_flight, working) if value), default=None)

    @property
    def blocked_share(self) -> float | None:
        """Share of the time of requests in which working threads of the target were blocked; None if
        unknown. A mean number over the waiting capacity, no proportion of samples.
        """
        served = self.used.served
        if served is None or served.blocked is None:
            return None
        capacity = self.waiting_capacity
        return None if not capacity else min(1.0, served.blocked.working_mean / max(capacity, 0.1))

    @property
    def flush_waiting_share(self) -> float | None:
        """Share of the time of requests in which working threads of the target flushed, or waited for another
        thread while one did; None if unknown.
        """
        served, capacity = self.used.served, self.waiting_capacity
        if served is None or served.blocked is None or served.blocked.flush_waiting_mean is None:
            return None
        return None if not capacity else min(1.0, served.blocked.flush_waiting_mean / max(capacity, 0.1))


@dataclass(frozen=True)
class Condition:
    """A condition of a sign: `measured` reaches `needed`, in the same unit. A condition that is no comparison
    of numbers has neither. `text` states what an unmet one requires.
    """

    is_met: bool
    text: Message
    measured: float | None = None
    needed: float | None = None

    @property
    def strength(self) -> float | None:
        """`measured` over `needed`."""
        if self.measured is None or self.needed is None:
            return None
        return self.measured / self.needed if self.needed > 0 else 1.0


def reaching(measured: float, needed: float, text: Message) -> Condition:
    """A value of at least `needed`."""
    return Condition(measured >= needed, text, measured, needed)


def at_limit(utilisation: float, needed: float = AT_LIMIT) -> Condition:
    """A utilisation, 0 to 1, of at least `needed`."""
    return reaching(utilisation, needed, NEEDS_SHARE(needed_share=needed))


def mostly(share: float, looks: float) -> Condition:
    """A share of `looks` instants that is above one half with a confidence of 95% (`is_most`).

    By inversion of Wilson's interval, which is that of the score test, this is a share above
    1/2 + z / (2 sqrt(looks)).
    """
    needed = MOSTLY + _Z / 2 / max(looks, 1e-9) ** 0.5
    text = (
        NEEDS_SAMPLES(looks=round(looks))
        if needed >= 1
        else NEEDS_MOSTLY(needed_share=needed, looks=round(looks))
    )
    return Condition(is_most(share, looks), text, share, needed)


def full_machine(evidence: Evidence) -> Condition:
    """CPU of the whole machine that leaves nothing to either side (`Evidence.is_host_full`)."""
    pressure = evidence.used.host.pressure
    waiting = None if pressure is None else pressure.cpu
    text = NEEDS_FULL(full_share=HOST_AT_LIMIT)
    if waiting is not None:
        text = NEEDS_FULL_OR_WAITING(
            full_share=HOST_AT_LIMIT, saturated_share=AT_LIMIT, mostly_share=MOSTLY, waiting_share=waiting
        )
    return reaching(evidence.host_wanted, AT_LIMIT if evidence.is_host_saturated else HOST_AT_LIMIT, text)


def other_cores(evidence: Evidence) -> float:
    """Cores in use by processes that are neither target, load generator nor loadcell itself."""
    used = evidence.used
    both_sides = evidence.target_cores + evidence.client_cores
    return max(0.0, evidence.host_busy * used.host.cores - both_sides - (used.runner_cores or 0.0))


def half_of(cores: float, evidence: Evidence) -> Condition:
    """At least half of the machine's cores in use by one side, apart from steal time."""
    half = evidence.used.host.cores * evidence.granted_share / 2
    return reaching(cores, half, NEEDS_HALF(cores=half))


def unmet_demand(evidence: Evidence) -> Condition:
    """The load asks for more than the target completes, as far as that is known: needed by signs that are
    shares of the requests' time, which say nothing about throughput otherwise.
    """
    return Condition(not evidence.is_satisfied, NEEDS_DEMAND())


@dataclass(frozen=True)
class Sign:
    """A candidate in one trial, at its limit if all its conditions are met. `explains` names further
    candidates whose signs follow from it in this trial, and `precedes` those that would reach their limit
    after it. `label` and `advice` take the place of those of the candidate.
    """

    conditions: tuple[Condition, ...]
    evidence: Message
    explains: tuple[str, ...] = ()
    precedes: tuple[str, ...] = ()
    label: MessageCode | None = None
    advice: MessageCode | None = None

    @property
    def is_limit(self) -> bool:
        """True if all conditions are met."""
        return all(condition.is_met for condition in self.conditions)

    @property
    def binding(self) -> Condition | None:
        """The condition that is farthest from being met, or that only just is; None without numbers."""
        compared = [condition for condition in self.conditions if condition.strength is not None]
        return min(compared, key=lambda condition: condition.strength or 0.0, default=None)

    @property
    def strength(self) -> float:
        """Measured over needed value of the binding condition."""
        return 1.0 if self.binding is None else self.binding.strength or 0.0

    @property
    def level(self) -> float:
        """The same at most 1: 1 is the limit. A sign of level 1 is none if another condition is not met."""
        return min(1.0, self.strength)

    @property
    def lacking(self) -> tuple[Message, ...]:
        """The requirements of the conditions that are not met."""
        return tuple(condition.text for condition in self.conditions if not condition.is_met)


def stronger(*signs: Sign) -> Sign:
    """The alternative that is at its limit or nearest to it; of equal ones the first."""
    return max(signs, key=lambda sign: (sign.is_limit, sign.level))


#: The sign of a candidate; None where the record cannot tell.
Signs = Callable[[Evidence], Sign | None]


@dataclass(frozen=True)
class Candidate:
    """A resource that may limit a system.

    `label` is its name in a sentence and `advice` what to try. It is not judged in windows shorter than
    `least_window_s`. `explains` names candidates whose signs follow from this one. The one of lowest `rank`
    is dropped beside any other of a higher one: it is the limit only if no resource is.
    `needs_target`: below its limit it is compared only with an observed target.
    """

    name: str
    label: MessageCode
    advice: MessageCode
    signs: Signs
    least_window_s: float
    explains: tuple[str, ...] = ()
    rank: int = 2
    needs_target: bool = False


def declared_candidate(
    name: str,
    signs: Signs,
    *,
    least_window_s: float = 1.0,
    explains: tuple[str, ...] = (),
    rank: int = 2,
    needs_target: bool = False,
) -> Candidate:
    """A candidate with the codes `limit.NAME` and `limit.NAME.advice`."""
    return Candidate(
        name,
        MessageCode(f"limit.{name}", "info"),
        MessageCode(f"limit.{name}.advice", "info"),
        signs,
        least_window_s,
        explains,
        rank,
        needs_target,
    )


def quota_use(used: Resources) -> float | None:
    """Cores in use over the CPU quota of the target's control group; None without a quota.

    The cores of a client in the same group count, too.
    """
    target, client = used.served, used.client
    group = None if target is None else target.control_group
    if target is None or group is None or not group.cpu_quota_cores:
        return None
    cores = target.cores
    if client is not None and client is not target and _is_same(group, client.control_group):
        cores += client.cores
    return cores / group.cpu_quota_cores


def _is_same(group: ControlGroupUse, other: ControlGroupUse | None) -> bool:
    """True for one control group: by its identity, in records without one by its quota and counters."""
    if other is None or None in (group.identity, other.identity):
        return group == other
    return group.identity == other.identity


def leads(thread: ThreadUse, other: ProcessUse | None) -> bool:
    """True if a thread is clearly busier than any thread of the other side, which waits for it."""
    rival = None if other is None else other.busiest_thread
    return rival is not None and thread.cpu - rival.cpu >= LEAD


def is_at_quota(used: Resources) -> bool:
    """True if the target's CPU quota is used up, so that neither more cores nor other threads would help.

    A quota of all cores that the target may use is no limit apart from these.
    """
    use, target = quota_use(used), used.served
    if use is None or target is None or target.control_group is None:
        return False
    cores = min((cores for cores in (used.host.cores, target.cpus_allowed) if cores), default=None)
    is_smaller = cores is None or (target.control_group.cpu_quota_cores or 0.0) < cores
    return use >= AT_LIMIT and (is_smaller or is_throttled(used))


def quota_left(used: Resources) -> Condition:
    """The target's CPU quota is not used up."""
    return Condition(not is_at_quota(used), NEEDS_QUOTA_LEFT())


def is_throttled(used: Resources) -> bool:
    """True if the quota held the target back in most periods."""
    group = None if used.served is None else used.served.control_group
    return group is not None and (group.throttled_share or 0.0) >= MOSTLY


def available_cores(used: Resources, process: ProcessUse) -> float | None:
    """Cores that a process may use: of the machine, of its affinity, and of its quota; None if unknown."""
    quota = None if process.control_group is None else process.control_group.cpu_quota_cores
    return min((cores for cores in (used.host.cores, process.cpus_allowed, quota) if cores), default=None)
