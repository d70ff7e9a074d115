/** A Job of runners, as far as the plan needs it. */
export interface RunnerJob {
  readonly name: string;
  readonly state: 'active' | 'succeeded' | 'failed';
  /** When it ended, in Unix milliseconds; null while it is active. */
  readonly endMs: number | null;
}

/** The rollouts that runners can take, and those that they run. */
export interface QueueLength {
  readonly queued: number;
  readonly running: number;
}

/** The settings of a plan. */
export interface JobPlanOptions {
  /** The prefix of the names of Jobs. */
  readonly name: string;
  /** The upper limit of Jobs at a time. */
  readonly maxJobs: number;
  readonly rolloutsPerJob: number;
}

/** What is to be done now. */
export interface JobPlan {
  /** The names of Jobs to create. */
  readonly create: readonly string[];
  /** Failures since the last success. */
  readonly failures: number;
  /** When Jobs may be created again after failures, in Unix milliseconds; null without failures. */
  readonly backoffUntilMs: number | null;
}

const firstBackoffMs = 10_000;

/** The longest backoff after failures, in milliseconds. */
export const maxBackoffMs = 300_000;

/**
 * Plans the Jobs for a queue: one for each batch of rollouts that are queued or running, at most `maxJobs`. After a failure none are
 * created for 10 s, which doubles with each further failure since the last success, up to five minutes.
 *
 * Names are numbered from the highest number of the existing Jobs: two controllers that see the same Jobs create the same names, and the API
 * refuses the second one.
 */
export function planJobs(
  { name, maxJobs, rolloutsPerJob }: JobPlanOptions,
  { jobs, queue, nowMs }: { readonly jobs: readonly RunnerJob[]; readonly queue: QueueLength; readonly nowMs: number },
): JobPlan {
  const ended = jobs.filter(({ endMs }) => endMs !== null).toSorted((a, b) => (b.endMs ?? 0) - (a.endMs ?? 0));
  const lastSuccess = ended.findIndex(({ state }) => state === 'succeeded');
  const failures = lastSuccess === -1 ? ended.length : lastSuccess;
  const backoffUntilMs = failures === 0 ? null : (ended[0]?.endMs ?? nowMs) + backoffAfter(failures);
  const active = jobs.filter(({ state }) => state === 'active').length;
  const wanted = Math.min(maxJobs, Math.ceil((queue.queued + queue.running) / rolloutsPerJob));
  const missing = Math.min(wanted - active, Math.ceil(queue.queued / rolloutsPerJob));
  const count = backoffUntilMs !== null && nowMs < backoffUntilMs ? 0 : Math.max(0, missing);
  const highest = Math.max(0, ...jobs.map((job) => numberOf(name, job.name)));
  return {
    create: Array.from({ length: count }, (_, index) => `${name}-${highest + index + 1}`),
    failures,
    backoffUntilMs,
  };
}

function backoffAfter(failures: number): number {
  return Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(failures - 1, 10));
}

function numberOf(prefix: string, name: string): number {
  const digits = name.startsWith(`${prefix}-`) ? name.slice(prefix.length + 1) : '';
  return /^\d+$/.test(digits) ? Number(digits) : 0;
}
