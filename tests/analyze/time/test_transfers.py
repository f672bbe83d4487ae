"""What a launch moves between SMs, L2 and memory, against an H200's counters and by hand."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from irlens import gpus
from irlens.analyze.time.counting import Placement, uncertainty
from irlens.analyze.time.counts import awaited_share
from irlens.analyze.time.transfers import Caches, Transfers, Wave, transfers
from irlens.analyze.traffic import Footprint, Survey
from irlens.model.source import SourceLocation, Span
from irlens.model.traffic import Access, Traffic
from irlens.report.inspection import Inspection
from tests.analyze.h200_launches import launches
from tests.report.test_launch_time import capture

MB = 1 << 20
CACHES = Caches(l1=200 << 10, l2=60 * MB)


@pytest.mark.parametrize("number", range(5, 217, 14))
def test_memory_delivers_what_an_h200_counted(number: int, tmp_path: Path) -> None:
    launch = Inspection(capture(number, tmp_path)).launch
    assert not isinstance(launch, str)
    read = launches()[number]["ncu"]["dram__bytes_read.sum"]
    assert launch.moved.dram_read_bytes == pytest.approx(read, rel=0.25)


def access(operation: str, total: int, distinct: int) -> Access:
    return Access(line=1, source=None, operation=operation, argument="x", bytes=total,
                  distinct_bytes=distinct, masked=0)  # fmt: skip


def survey(
    *accesses: Access, read: int, written: int = 0, granules: int = 1, distinct: int | None = None
) -> Survey:
    """A survey in which each byte that is used costs so many."""
    traffic = Traffic(
        read_bytes=sum(each.bytes for each in accesses if each.direction == "load"),
        written_bytes=written,
        distinct_read_bytes=distinct or read,
        distinct_written_bytes=written,
        load_sectors=read * granules // 32,
        store_sectors=written * granules // 32,
        accesses=list(accesses),
    )
    footprint = Footprint(
        read_bytes=read * granules,
        wave_read_bytes=read * granules,
        written_bytes=written * granules,
        read_sector_bytes=read * granules,
        written_sector_bytes=written * granules,
    )
    return Survey(traffic, footprint)


def moved(launch: Survey, program: Survey, wave: Wave, loops: tuple[Span, ...] = ()) -> Transfers:
    found = transfers(launch, program, wave, CACHES, loops)
    assert isinstance(found, Transfers)
    return found


@pytest.mark.parametrize(
    ("operation", "width", "lines", "sectors", "cycles"),
    [
        ("tt.load", 4, 1, 4, 1.0),
        ("tt.load", 4, 8, 32, 8.0),
        ("tt.load", 16, 4, 16, 4.0),
        ("tt.load", 16, 8, 32, 16.0),
        # benchmarks/l1_requests.py on an H100, in cycles a request.
        ("tt.store", 4, 8, 8, 16.0),
        ("tt.store", 4, 8, 32, 40.0),
        ("tt.store", 4, 16, 32, 48.0),
        ("tt.store", 4, 32, 32, 64.0),
        ("tt.store", 4, 1, 4, 1.0),
    ],
)
def test_requests_occupy_the_l1_for_what_they_deliver_or_send(
    operation: str, width: int, lines: int, sectors: int, cycles: float
) -> None:
    """Loads for the cycles in which it delivers their words, whether it holds them or not."""
    place = SourceLocation(file="k.py", line=3)
    each = replace(
        access(operation, 32 * width, 32 * width), source=place, width=width, requests=1,
        sectors=sectors, ideal_sectors=width,
    )  # fmt: skip
    launch = replace(survey(each, read=MB, written=MB), lines=(lines,), wavefronts=(int(cycles),))
    assert launch.footprint is not None
    program = replace(launch, footprint=replace(launch.footprint, read_sector_bytes=0))
    found = moved(launch, program, Wave(ctas=1, waves=1.0, resident=1, looping=False))
    taken = found.occupied.loads if operation == "tt.load" else found.occupied.stores
    assert taken == cycles
    words = max(1.0, width / 4)
    assert found.occupied.of_request == ({place: cycles} if cycles > words else {})
    assert (found.coalesced.loads or found.coalesced.stores) == words


@pytest.mark.parametrize(("shared", "l1"), [(0, 256), (40 << 10, 215), ((48 << 10) + 1, 28)])
def test_triton_gives_shared_memory_all_that_an_sm_has_where_a_cta_takes_much(
    shared: int, l1: int
) -> None:
    """Spilled registers of such CTAs leave the L1: 73 and 48 % of their loads hit on an H200."""
    caches = Placement(gpu=gpus.find("h100"), resident=1).caches(shared)
    assert caches.l1 // 1024 == l1


def test_rows_that_are_read_twice_come_from_memory_where_the_l2_is_full() -> None:
    """1,024 CTAs read a row twice, and weights that fit anywhere a thousand times."""
    for row, times in ((20_480, 1), (81_920, 2)):
        again = (access("tt.load", row, row), access("tt.load", row, row),
                 access("tt.load", row, 40))  # fmt: skip
        program = survey(*again, read=row, distinct=row + 40)
        whole = tuple(access("tt.load", 1024 * each.bytes, 1024 * row) for each in again)
        launch = survey(*whole, read=1024 * row)
        found = moved(launch, program, Wave(ctas=1024, waves=0.97, resident=8, looping=True))
        assert found.dram_read_bytes == pytest.approx(times * 1024 * row, rel=0.01)


@pytest.mark.parametrize(("looping", "reads", "writes"), [(True, 1, 1), (False, 16, 8)])
def test_sectors_that_ctas_share_leave_the_l2(looping: bool, reads: int, writes: int) -> None:
    """Each CTA uses 4 of 32 bytes of its sectors, and others use the rest much later."""
    ctas, used = 8192, 4096
    program = survey(access("tt.load", used, used), read=used, written=used, granules=8)
    launch = survey(
        access("tt.load", used * ctas, used * ctas), read=used * ctas, written=used * ctas
    )
    found = moved(launch, program, Wave(ctas=ctas, waves=3.9, resident=16, looping=looping))
    distinct = used * ctas
    assert found.dram_read_bytes == pytest.approx(reads * distinct, rel=0.01)
    assert found.dram_written_bytes == pytest.approx(writes * distinct, rel=0.01)


@pytest.mark.parametrize(
    ("row", "resident", "second", "held", "missed"),
    [
        (20_480, 8, 21, 0.5, 0.5),  # 160 KB in an L1 of 200
        (81_920, 8, 21, 0.0, 1.0),  # 640 KB
        (81_920, 8, 11, 0.0, 0.5),  # in the same loop, at once
    ],
)
def test_the_l1_holds_what_another_loop_has_read_if_there_is_room(
    row: int, resident: int, second: int, held: float, missed: float
) -> None:
    """CTAs read a row twice: in the loop of lines 10 to 15, and in that of lines 20 to 25."""
    reads = [replace(access("tt.load", row, row), line=line, sectors=row // 32)
             for line in (10, second)]  # fmt: skip
    once = survey(*reads, read=row)
    program = replace(once, traffic=replace(once.traffic, load_sectors=2 * row // 32))
    ctas = 1024
    everywhere = [replace(each, distinct_bytes=row * ctas) for each in reads]
    whole = survey(*everywhere, read=row * ctas)
    launch = replace(whole, traffic=replace(whole.traffic, load_sectors=2 * row * ctas // 32))
    wave = Wave(ctas=ctas, waves=0.97, resident=resident, looping=True)
    found = moved(launch, program, wave, (Span("ttir", 9, 15), Span("ttir", 20, 25)))
    assert found.missed_sectors / found.load_sectors == pytest.approx(missed)
    assert found.held_sectors / found.load_sectors == pytest.approx(held)
    assert found.l1_share == pytest.approx(held and 0.5)


@pytest.mark.parametrize(("bypassing", "missed"), [(False, 0.25), (True, 1.0)])
def test_copies_that_bypass_the_l1_take_all_from_the_l2(bypassing: bool, missed: float) -> None:
    """The four warps of a CTA copy the same bytes, as experts do whose tokens are one."""
    row, ctas, place = 4096, 1024, SourceLocation("k.py", 5)
    read = replace(access("tt.load", 4 * row, row), source=place, sectors=4 * row // 32)
    once = survey(read, read=row)
    program = replace(once, traffic=replace(once.traffic, load_sectors=4 * row // 32))
    whole = survey(replace(read, distinct_bytes=row * ctas), read=row * ctas)
    launch = replace(whole, traffic=replace(whole.traffic, load_sectors=4 * row * ctas // 32))
    wave = Wave(ctas=ctas, waves=0.97, resident=8, looping=True)
    places = {place} if bypassing else set()
    found = transfers(launch, program, wave, CACHES, bypassing=places)
    assert isinstance(found, Transfers)
    assert found.missed_sectors / found.load_sectors == pytest.approx(missed)


@pytest.mark.parametrize(
    ("missed", "memory", "written", "local", "crossed"),
    [
        # lts__t_sectors_srcunit_ltcfabric of an H100, in MB: 535 of _kldiv_kernel_backward, 69 of
        # a sum over rows that all SMs read, 246 of logsigmoid_fwd_kernel with 354 MB of spills.
        (524, 524, 524, 0, 535),
        (524, 67, 2, 0, 69),
        (67, 67, 67, 354, 246),
    ],
)
def test_sectors_cross_the_l2_to_the_half_that_is_not_their_home(
    missed: float, memory: float, written: float, local: float, crossed: float
) -> None:
    found = Transfers(
        load_sectors=missed * 1e6 / 32,
        store_sectors=written * 1e6 / 32,
        bulk_read_bytes=0,
        bulk_written_bytes=0,
        missed_sectors=missed * 1e6 / 32,
        dram_read_bytes=memory * 1e6,
        dram_written_bytes=written * 1e6,
        local_bytes=local * 1e6,
        local_written_bytes=local * 1e6,
    )
    assert found.crossed_bytes == pytest.approx(crossed * 1e6, rel=0.05)


def grouped(ctas: int, bytes_of: Callable[[int], tuple[int, int]]) -> Callable[[int], Survey]:
    """Surveys of groups of CTAs, of which each reads and writes a number of bytes."""

    def in_groups(size: int) -> Survey:
        read, written = bytes_of(size)
        footprint = Footprint(
            read_bytes=0, written_bytes=0, read_sector_bytes=0, written_sector_bytes=0,
            wave_read_bytes=read * ctas // size, wave_written_bytes=written * ctas // size,
        )  # fmt: skip
        return Survey(Traffic(), footprint)

    return in_groups


@pytest.mark.parametrize(
    ("together", "reads"),
    [
        (lambda size: -(-size // 8), 1),  # eight CTAs that run side by side share each sector
        (lambda size: size, 8),  # none do
        (lambda size: min(size, 1024), 1),  # CTAs 1,024 apart do, whose data fit the L2
        (lambda size: min(size, 4096), 8),  # 4,096 apart: 128 MB
    ],
)
def test_neighbouring_ctas_find_in_the_l2_what_it_holds_of_them(
    together: Callable[[int], int], reads: int
) -> None:
    """Columns of a sum over rows: each CTA uses an eighth of its sectors."""
    ctas, used = 8192, 4096
    program = survey(access("tt.load", used, used), read=used, granules=8)
    launch = survey(access("tt.load", used * ctas, used * ctas), read=used * ctas)
    wave = Wave(ctas=ctas, waves=1.0, resident=64, looping=False)
    in_groups = grouped(ctas, lambda size: (8 * used * together(size), 0))
    found = transfers(launch, program, wave, CACHES, in_groups=in_groups)
    assert isinstance(found, Transfers)
    assert found.dram_read_bytes == pytest.approx(reads * used * ctas)


def test_sectors_that_ctas_of_a_batch_write_in_parts_leave_the_l2_whole() -> None:
    """Softmax over rows of unequal sequences: 256 CTAs further on another one has the next head."""
    ctas, used = 32_768, 4096
    program = survey(access("tt.load", used, used), read=used, written=used, granules=8)
    launch = survey(
        access("tt.load", used * ctas, used * ctas), read=used * ctas, written=used * ctas
    )
    in_groups = grouped(ctas, lambda size: (8 * used * min(size, 256),) * 2)
    wave = Wave(ctas=ctas, waves=16, resident=16, looping=False)
    found = transfers(launch, program, wave, CACHES, in_groups=in_groups)
    assert isinstance(found, Transfers)
    assert found.dram_read_bytes == found.dram_written_bytes == used * ctas


def test_ctas_of_a_wave_share_sectors_where_groups_are_too_many_to_count() -> None:
    """16 waves of 2,048 CTAs, of which those of one bring 12 MB to read, and as much to write."""
    ctas, used = 32_768, 4096
    program = survey(access("tt.load", used, used), read=used, written=used, granules=8)
    launch = survey(
        access("tt.load", used * ctas, used * ctas), read=used * ctas, written=used * ctas
    )
    assert launch.footprint is not None
    waves = replace(launch.footprint, wave_read_bytes=used * ctas * 3 // 2,
                    wave_written_bytes=used * ctas * 3 // 2)  # fmt: skip
    launch = replace(launch, footprint=waves)
    wave = Wave(ctas=ctas, waves=16, resident=16, looping=False)
    found = moved(launch, program, wave)
    assert found.dram_written_bytes == used * ctas * 3 // 2


def test_what_ctas_read_again_and_share_they_bring_together() -> None:
    """A persistent product: 132 CTAs go through the same 32 MB of columns four times."""
    ctas, columns = 132, 32 * MB
    program = survey(access("tt.load", 4 * columns, columns), read=columns)
    whole = survey(access("tt.load", 4 * columns * ctas, columns), read=columns)
    wave = Wave(ctas=ctas, waves=1.0, resident=1, looping=True)
    small = replace(CACHES, l2=columns)
    found = transfers(whole, program, wave, small)
    assert isinstance(found, Transfers)
    assert found.dram_read_bytes == pytest.approx(4 * columns)


def test_each_line_and_each_written_sector_enters_the_l2() -> None:
    """lts__xbar2lts_cycles_active of an H100: 7.47 million of a copy of images to NHWC."""
    found = Transfers(
        load_sectors=6.02e5, store_sectors=3.79e6, bulk_read_bytes=0, bulk_written_bytes=0,
        missed_sectors=6.02e5, dram_read_bytes=0, dram_written_bytes=0, store_lines=3.59e6,
        partial_lines=3.59e6,
    )  # fmt: skip
    assert found.input_cycles == pytest.approx(7.47e6, rel=0.02)


@pytest.mark.parametrize(
    ("apart", "lines", "partial", "cycles"),
    [
        (1, 524_288, 0, 2_110_615),
        (2, 1_048_576, 1_048_576, 5_256_529),
        (4, 2_097_152, 2_097_152, 10_499_526),
        (8, 4_194_304, 4_194_304, 20_988_186),
    ],
)
def test_cycles_of_the_l2s_inputs_are_those_that_an_h200_counts(
    apart: int, lines: int, partial: int, cycles: int
) -> None:
    """lts__xbar2lts_cycles_active of 16.8 million stores of a word, some words apart."""
    found = Transfers(
        load_sectors=0, store_sectors=4 * lines, bulk_read_bytes=0, bulk_written_bytes=0,
        missed_sectors=0, dram_read_bytes=0, dram_written_bytes=0, store_lines=lines,
        partial_lines=partial,
    )  # fmt: skip
    assert lines == apart * (1 << 19)
    assert found.input_cycles == pytest.approx(cycles, rel=0.01)


@pytest.mark.parametrize(
    ("lines", "sectors", "partial", "us"),
    [
        # What 786,432 or 196,608 requests more take an H200 longer (store of patterns.py), by the
        # lines and sectors of each: words 4, 8, 16, 32 and 128 bytes apart.
        (1, 4, 0, 21.6),
        (2, 8, 2, 53.7),
        (4, 16, 4, 106.1),
        (8, 32, 8, 216.5),
        (32, 32, 32, 84.9),
    ],
)
def test_whole_lines_enter_the_l2_in_a_cycle_for_each_sector(
    lines: int, sectors: int, partial: int, us: float
) -> None:
    requests = 196_608 if lines == 32 else 786_432
    found = Transfers(
        load_sectors=0, store_sectors=requests * sectors, bulk_read_bytes=0, missed_sectors=0,
        bulk_written_bytes=0, dram_read_bytes=0, dram_written_bytes=0, store_lines=requests * lines,
        partial_lines=requests * partial,
    )  # fmt: skip
    timing = gpus.find("h200").timing
    assert timing is not None
    assert timing.l2_inputs is not None
    assert found.input_cycles / timing.l2_inputs * 1e6 == pytest.approx(us, rel=0.02)


@pytest.mark.parametrize(
    ("megabytes", "readers", "missed"),
    [(47, 1, 0.0), (57, 1, 1.0), (31, 2, 0.0), (57, 2, 1.0), (23, 132, 0.0), (57, 132, 1.0)],
)
def test_each_half_of_the_l2_keeps_what_its_sms_read(
    megabytes: int, readers: int, missed: float
) -> None:
    """132 SMs of an H200 read parts again, each its own, or two of them the same: ``again``."""
    ctas, times, part = 132, 16, megabytes * 10**6 * readers // 132
    program = survey(access("tt.load", times * part, part), read=part)
    whole = survey(
        access("tt.load", times * part * ctas, part * ctas // readers), read=part * ctas // readers
    )
    caches = Placement(gpu=gpus.find("h200"), resident=1).caches(0)
    wave = Wave(ctas=ctas, waves=1.0, resident=1, looping=True)
    found = transfers(whole, program, wave, caches)
    assert isinstance(found, Transfers)
    again = (times - 1) * part * ctas // readers
    assert found.dram_read_bytes - part * ctas // readers == pytest.approx(missed * again, rel=0.01)


def test_an_h200_has_50_of_its_60_mb_of_l2_for_what_ctas_read_again() -> None:
    """By 60 the bytes from memory of seven of 217 launches are a third and more too few."""
    gpu = gpus.find("h200")
    assert gpu.product is not None
    assert gpu.product.l2_bytes == 60 * MB
    assert Placement(gpu=gpu, resident=1).caches(0).l2 == pytest.approx(50 * MB)


@pytest.mark.parametrize(
    ("apart", "size", "read"),
    [(4, 4, 0), (32, 1, 1.0), (64, 1, 1.0), (32, 0.01, 0)],
)
def test_sectors_that_are_written_in_part_are_filled_from_memory(
    apart: int, size: float, read: float
) -> None:
    """An H200 stores 4 bytes to each 32 at half the speed: it takes as long as copying them."""
    words = int(size * (1 << 22))
    store = replace(access("tt.store", 4 * words, 4 * words), width=4)
    sectors = max(apart, 4) * words if apart < 32 else 32 * words
    traffic = Traffic(
        read_bytes=0, written_bytes=4 * words, distinct_read_bytes=0,
        distinct_written_bytes=4 * words, load_sectors=0, store_sectors=sectors // 32,
        accesses=[store],
    )  # fmt: skip
    footprint = Footprint(
        read_bytes=0, wave_read_bytes=0, written_bytes=max(4, apart) * words,
        read_sector_bytes=0, written_sector_bytes=sectors,
    )  # fmt: skip
    launch = Survey(traffic, footprint)
    found = moved(launch, launch, Wave(ctas=words // 1024, waves=4.0, resident=8, looping=True))
    assert found.dram_read_bytes == read * apart * words
    assert found.dram_written_bytes == sectors


@pytest.mark.parametrize(("apart", "pieces"), [(0.0, 0), (0.5, 0.5), (1.0, 1.0)])
def test_pieces_that_lie_apart_open_a_page_each(apart: float, pieces: float) -> None:
    launch = replace(survey(access("tt.load", 64 * MB, 64 * MB), read=64 * MB), apart=(apart,))
    found = moved(launch, launch, Wave(ctas=1, waves=1.0, resident=1, looping=True))
    assert found.pieces == pieces * MB


@pytest.mark.parametrize(
    ("loaded", "stored", "read", "written", "looked_up"),
    [
        (67_108_864, 32_768, 134.2e6, 0, 67.9e6),  # sums of columns, a sector of each line
        (393_216, 131_072, 50.3e6, 16.8e6, 1.56e6),  # a fourth tensor from three, whole lines
    ],
)
def test_each_line_of_a_request_is_looked_up(
    loaded: float, stored: float, read: float, written: float, looked_up: float
) -> None:
    """lts__t_tag_requests of an H100, 97 and 46 % of 511 and 24.8 µs."""
    found = Transfers(
        load_sectors=4 * loaded, store_sectors=4 * stored, bulk_read_bytes=0,
        bulk_written_bytes=0, missed_sectors=4 * loaded, dram_read_bytes=read,
        dram_written_bytes=written, load_lines=loaded, store_lines=stored,
    )  # fmt: skip
    assert found.lookups == pytest.approx(looked_up, rel=0.03)


@pytest.mark.parametrize(
    ("loaded", "stored", "moved_bytes", "looked_up"),
    [
        # lts__t_tag_requests of softmax over columns of unequal length, two kernels, and of one's
        # backward pass, 83 to 88 % of 30.8, 43.2 and 40.4 µs on an H100.
        (1_303_006, 1_272_960, 10.2e6, 3.53e6),
        (1_965_666, 1_767_007, 14.1e6, 4.91e6),
        (2_576_302, 1_272_960, 15.3e6, 4.85e6),
    ],
)
def test_a_line_that_is_written_in_part_is_looked_up_by_both_halves(
    loaded: float, stored: float, moved_bytes: float, looked_up: float
) -> None:
    found = Transfers(
        load_sectors=loaded, store_sectors=stored, bulk_read_bytes=0, bulk_written_bytes=0,
        missed_sectors=loaded, dram_read_bytes=moved_bytes, dram_written_bytes=0,
        load_lines=loaded, store_lines=stored, partial_lines=stored,
    )  # fmt: skip
    assert found.lookups == pytest.approx(looked_up, rel=0.05)


def test_ctas_that_run_at_once_wait_for_what_they_share() -> None:
    assert awaited_share(0.25, 100, 2112) == 0.5
    assert awaited_share(1.0, 100, 2112) == 1.0
    assert awaited_share(0.0, 100, 2112) == 0.0
    assert awaited_share(0.25, 4224, 2112) == pytest.approx(0.25**0.75)
    assert awaited_share(0.25, 1 << 30, 2112) == pytest.approx(0.25, rel=0.01)


@pytest.mark.parametrize(("instructions", "size"), [(8192, ""), (15_128, "236 KB")])
def test_code_that_no_cache_holds_is_uncertain(instructions: int, size: str) -> None:
    """Rows of 128 scaled to fp8 are 242 KB of code, and take an H100 twice their estimate."""
    moved = Transfers(
        load_sectors=1, store_sectors=1, bulk_read_bytes=0, bulk_written_bytes=0,
        missed_sectors=1, dram_read_bytes=32, dram_written_bytes=32,
    )  # fmt: skip
    found = uncertainty([], moved, instructions)
    assert bool(found) == bool(size)
    assert size in found


@pytest.mark.parametrize(("ctas", "abreast"), [(1, 1), (132, 1), (133, 2), (4096, 4)])
def test_a_small_grid_does_not_fill_its_sms(ctas: int, abreast: int) -> None:
    """132 CTAs that spill 141 KB each keep it in the L2 of an H100, and four to an SM do not."""
    assert Placement(gpu=gpus.find("h100"), resident=4).abreast(ctas) == abreast


@pytest.mark.parametrize(
    ("width", "lines", "sectors", "total", "partial"),
    [
        (4, 32, 32, 128, 32),  # lanes that lie in lines of their own
        (4, 8, 32, 128, 8),  # in sectors of their own
        (4, 1, 4, 128, 0),  # in a whole line
        (4, 2, 5, 128, 2 * 32 / 28 / 5),  # in one that begins in the middle of a sector
        (16, 16, 32, 512, 16),
    ],
)
def test_lines_are_written_in_part_where_lanes_leave_some_of_a_sector(
    width: int, lines: int, sectors: int, total: int, partial: float
) -> None:
    store = replace(access("tt.store", total, total), width=width, sectors=sectors)
    launch = replace(survey(store, read=0, written=total), lines=(lines,))
    found = moved(launch, launch, Wave(ctas=1, waves=1.0, resident=1, looping=True))
    assert found.partial_lines == pytest.approx(partial)
