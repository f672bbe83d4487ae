"""The same work by the workers of a Dask cluster."""

import socket
from concurrent.futures import Future
from typing import Any, Protocol

from irlens.model.errors import IrlensError
from irlens.sweep.crew import Death
from irlens.sweep.work import Work

_SECONDS_TO_CONNECT = 10
#: Orders at hand for each thread of a worker, so that none waits for the next one's journey.
_ORDERS_PER_THREAD = 2


class _Executor(Protocol):
    """What ``distributed.Client.get_executor`` returns: a ``concurrent.futures.Executor``."""

    def submit(self, work: Work, order: bytes) -> Future[bytes]:
        """Hand out an order."""

    def shutdown(self, wait: bool) -> None:
        """Take no more orders."""


class ClusterCrew:
    """Workers that a Dask scheduler knows. Dask itself hands an order of a dead worker to others.

    Args:
        address: The scheduler's: "tcp://host:8786".

    Raises:
        IrlensError: Dask's distributed is not installed, nobody answers there, or the scheduler
            has no workers.
    """

    one_fate = False

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
            _ask_whether_anybody_listens(address)
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
        self.width = threads * _ORDERS_PER_THREAD
        self._executor: _Executor = self._client.get_executor(pure=False)

    def submit(self, work: Work, order: bytes) -> Future[bytes]:
        """Hand out an order."""
        return self._executor.submit(work, order)

    def died(self, error: BaseException) -> bool:
        """Whether several workers died, one after the other, over an order."""
        return isinstance(error, self._killed)

    def retry(self, work: Work, order: bytes, error: BaseException) -> bytes | Death:
        """Carry out an order once more: it may only have waited where others killed workers."""
        try:
            return self._executor.submit(work, order).result()
        except self._killed as again:
            return Death("its workers died, one after the other", str(again).partition(".")[0])

    def stop(self) -> None:
        """Leave the cluster, which drops what it was still to do."""
        self._executor.shutdown(wait=False)
        self._client.close()


def _ask_whether_anybody_listens(address: str) -> None:
    """Fail at once where nobody does: Dask would go on trying.

    Raises:
        ConnectionRefusedError: Nobody does.
    """
    from distributed.comm.addressing import get_address_host_port

    try:
        with socket.create_connection(get_address_host_port(address), _SECONDS_TO_CONNECT):
            pass
    except ConnectionRefusedError:
        raise
    except (OSError, ValueError):  # Dask may know a way
        return
