/*
 * Measures the event loop of a process that imports this file, on request of its parent: `start` starts a measurement,
 * `read` returns it.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The delay of a timer of 10 ms, in milliseconds: about 10 on an idle machine. */
export interface EventLoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /**
   * 99th percentile of the CPU time of the thread between two ticks of a timer of 10 ms, in milliseconds: the delay without
   * the time in which other processes had the processor.
   */
  readonly cpuP99: number;
  /** The most of it. */
  readonly cpuMax: number;
}

const resolutionMs = 10;

function measure(): () => EventLoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  histogram.enable();
  const busy: number[] = [];
  let before = process.threadCpuUsage();
  const timer = setInterval(() => {
    const now = process.threadCpuUsage();
    busy.push((now.user - before.user + now.system - before.system) / 1000);
    before = now;
  }, resolutionMs).unref();
  return () => {
    histogram.disable();
    clearInterval(timer);
    const [p50, p99, max] = [histogram.percentile(50), histogram.percentile(99), histogram.max].map((ns) => ns / 1e6);
    const sorted = busy.toSorted((one, other) => one - other);
    const cpuP99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
    return {
      p50: p50 ?? Number.NaN,
      p99: p99 ?? Number.NaN,
      max: max ?? Number.NaN,
      cpuP99,
      cpuMax: sorted.at(-1) ?? Number.NaN,
    };
  };
}

// Child processes of the measured one import this file, too, and have no channel or another one.
if (process.send !== undefined && process.env['MEASURED_PARENT'] === String(process.ppid)) {
  let read = measure();
  process.on('message', (message) => {
    if (message === 'start') read = measure();
    if (message === 'read') process.send?.(read());
  });
  // The measured program decides when the process ends.
  process.channel?.unref();
}
