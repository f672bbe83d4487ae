"""A worker pool on a Dask cluster."""

import socket
from concurrent.futures import Future
from functools import partial
from typing import Any

from irlens.model.errors import IrlensError
from irlens.sweeps.tasks import Handler
from irlens.sweeps.worker_pool import Crash

_SECONDS_TO_CONNECT = 10
#: Tasks submitted for each thread of a worker, so that none waits for the network.
_TASKS_PER_THREAD = 2


class ClusterPool:
    """The workers of a Dask scheduler. Dask itself gives the task of a dead worker to others.

    Args:
        address: Address of the scheduler: "tcp://host:8786".

    Raises:
        IrlensError: Dask's distributed is not installed, no scheduler answers, or it has no
            workers.
    """

    shares_store = False

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError as error:
            raise IrlensError(
                "--cluster needs Dask's distributed, which is not installed",
                hint='pip install "irlens[cluster]"',
            ) from error
        self._killed = distributed.KilledWorker
        try:
            _check_listening(address)
            self._client: Any = distributed.Client(address, timeout=_SECONDS_TO_CONNECT)
        except (OSError, ValueError) as error:
            raise IrlensError(
                f"no Dask scheduler answers at {address}",
                hint="start one with `dask scheduler`, which prints its address",
            ) from error
        threads = sum(self._client.nthreads().values())
        if not threads:
            self._client.close()
            raise IrlensError(
                f"the Dask scheduler at {address} has no workers",
                hint=f"start some: `dask worker {address}`",
            )
        self.width = threads * _TASKS_PER_THREAD

    def prepare(self, handler: Handler, task: bytes, workers: int) -> None:
        """Do nothing: a cluster's workers run already."""

    def submit(self, handler: Handler, task: bytes) -> Future[bytes]:
        """Submit a task.

        Dask's own ``get_executor`` fails where a worker dies whose answer is in flight: it has
        the answer, no longer finds the task finished, and takes the answer for an error. Dask drops
        the task of a future that is collected.
        """
        submitted = self._client.submit(handler, task, pure=False)
        answer: Future[bytes] = Future()
        answer.add_done_callback(lambda each: submitted.cancel() if each.cancelled() else None)
        submitted.add_done_callback(partial(_settle, answer))
        return answer

    def is_crash(self, error: BaseException) -> bool:
        """Return whether a task killed several workers, one after the other."""
        return isinstance(error, self._killed)

    def crash(self, future: Future[bytes]) -> Crash:
        """Return Dask's word on the workers that a task killed."""
        said = str(future.exception()).partition(".")[0]
        return Crash("its workers died, one after the other", said)

    def abandon(self, future: Future[bytes]) -> None:
        """Drop a task that has not started; Dask stops no running one."""
        future.cancel()

    def stop(self) -> None:
        """Leave the cluster, which drops the pending tasks."""
        self._client.close()


def _settle(answer: Future[bytes], submitted: Any) -> None:
    """Pass on how a task ended, unless the answer was abandoned."""
    if submitted.cancelled():
        answer.cancel()
    if not answer.set_running_or_notify_cancel():
        return
    try:
        answer.set_result(submitted.result())
    except BaseException as error:  # Dask's, of any kind: ``run_jobs`` tells a crash from the rest
        answer.set_exception(error)


def _check_listening(address: str) -> None:
    """Fail at once where no scheduler listens: Dask would keep trying."""
    from distributed.comm.addressing import get_address_host_port

    try:
        with socket.create_connection(get_address_host_port(address), _SECONDS_TO_CONNECT):
            pass
    except ConnectionRefusedError:
        raise
    except (OSError, ValueError):  # Dask may still reach it
        return
