/**
 * Feedback on traces of production, from a server or a browser: `fetch` only, without other modules of this package.
 *
 * @module
 */

/** The judgement of a trace. At least one field is present. */
export interface FeedbackJudgement {
  /** The reward of the trace, such as a rating from 0 to 1; a later one replaces it. */
  readonly score?: number;
  /** A thumb up or down: a score of 1 or 0 where there is no score. */
  readonly label?: 'good' | 'bad';
  /** The response that the agent should have given. */
  readonly correction?: string;
  /** The reason. */
  readonly comment?: string;
  /** The user, as the application names them. */
  readonly user?: string;
  /** Idempotency key, such as the id of a rating in the application's database. @default a new id for each call */
  readonly id?: string;
}

/** Options of {@link feedback}. */
export interface FeedbackOptions {
  /** Address of the store. */
  readonly url: string;
  /** A key; of the role `feedback` in a browser, where every user can read it. */
  readonly apiKey: string;
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch;
  /** Ends the request and its retries. */
  readonly signal?: AbortSignal;
}

/** Feedback that was not recorded. */
export class FeedbackError extends Error {
  /** Distinguishes the error, also of another copy of this package. */
  override readonly name = 'FeedbackError';
  /**
   * `NOT_FOUND`: the trace is unknown, was not sampled, or was deleted; `PERMISSION_DENIED`: the key may not give this
   * feedback; `UNREACHABLE`: the store did not respond. Others are the codes of the store.
   */
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(`[${code}] ${message}`, { cause });
    this.code = code;
  }
}

/** Pauses before the retries, in milliseconds. */
const pausesMs: readonly number[] = [250, 1000, 4000];

/**
 * Records feedback on a trace. A request that fails on the way, or that the store limits, is repeated three times; it is
 * recorded once.
 *
 * @param traceId - the id that the application kept: `currentTrace()?.id`, or the id of its OpenTelemetry trace
 * @throws FeedbackError when it was not recorded: of the last failure, also where the signal has ended the retries
 *
 * @example
 * ```ts
 * await feedback(traceId, { label: 'bad', correction: 'Returns are free for 30 days.' }, { url, apiKey });
 * ```
 */
export async function feedback(traceId: string, judgement: FeedbackJudgement, options: FeedbackOptions): Promise<void> {
  const body = JSON.stringify({ id: crypto.randomUUID(), source: 'user', ...judgement, rollout_id: traceId });
  for (const pauseMs of [...pausesMs, null]) {
    const failure = await sendOnce(body, options);
    if (failure === null) return;
    if (pauseMs === null || !failure.isTransient) throw failure.error;
    await pause(pauseMs, options.signal);
    if (options.signal?.aborted === true) throw failure.error;
  }
}

/** Waits until the time is over, or the signal aborts. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const timer = setTimeout(end, ms);
    function end(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    }
    signal?.addEventListener('abort', end);
  });
}

interface Failure {
  readonly error: FeedbackError;
  readonly isTransient: boolean;
}

async function sendOnce(body: string, options: FeedbackOptions): Promise<Failure | null> {
  const { url, apiKey, fetch = globalThis.fetch, signal } = options;
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}/v1/agl/feedback`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body,
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await response.text();
    if (response.ok) return null;
    return { error: errorOf(response.status, text), isTransient: response.status === 429 || response.status >= 500 };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return { error: new FeedbackError('UNREACHABLE', `Store at ${url}: ${reason}`, cause), isTransient: true };
  }
}

function errorOf(status: number, text: string): FeedbackError {
  try {
    const { code, message, remedy } = JSON.parse(text).error;
    return new FeedbackError(String(code), `${message} ${remedy}`);
  } catch {
    return new FeedbackError('INTERNAL', `The store responded with status ${status}`);
  }
}
