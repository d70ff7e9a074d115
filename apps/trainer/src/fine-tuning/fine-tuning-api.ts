import { AgentLightningError } from '@agentlightning/core';
import { backoffMs, errorMessage, systemClock } from '@agentlightning/core/internal';
import type OpenAI from 'openai';
import { importOptional } from '../user-modules/import-optional.ts';

/** A job at a vendor. */
export type FineTuningJob = OpenAI.FineTuning.FineTuningJob;

/** An event of a job. */
export type FineTuningJobEvent = OpenAI.FineTuning.FineTuningJobEvent;

/** The connection to a vendor. */
export interface VendorOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Maximum wait for an unreachable vendor, in milliseconds. */
  readonly outageToleranceMs: number;
  readonly signal: AbortSignal;
}

/** A job to create. */
export type JobRequest = Pick<OpenAI.FineTuning.JobCreateParams, 'model' | 'training_file' | 'method' | 'seed'>;

const retryBackoff = { baseDelayMs: 100, maxDelayMs: 10_000 };

type Sdk = typeof import('openai');

/** The fine-tuning API of OpenAI and of vendors with the same one. Uploads and jobs are created once, also after a lost response. */
export class FineTuningApi {
  readonly #sdk: Sdk;
  readonly #client: OpenAI;
  readonly #options: VendorOptions;

  private constructor(sdk: Sdk, options: VendorOptions) {
    const { baseUrl, apiKey } = options;
    this.#sdk = sdk;
    // Retries are below: a repeated POST would upload, or pay, twice.
    this.#client = new sdk.OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 });
    this.#options = options;
  }

  /** @throws AgentLightningError CONFIG where the package `openai` is not installed */
  static async open(options: VendorOptions): Promise<FineTuningApi> {
    const sdk = await importOptional('openai', 'Fine-tuning at a vendor', () => import('openai'));
    return new FineTuningApi(sdk, options);
  }

  /** Uploads a file, unless one of this name exists. */
  async upload(name: string, content: string): Promise<string> {
    const find = async (): Promise<string | null> => {
      for await (const file of this.#client.files.list({ purpose: 'fine-tune' }, this.#request())) {
        if (file.filename === name) return file.id;
      }
      return null;
    };
    return await this.#once(find, async () => {
      const file = await this.#sdk.toFile(Buffer.from(content), name, { type: 'application/jsonl' });
      return (await this.#client.files.create({ file, purpose: 'fine-tune' }, this.#request())).id;
    });
  }

  /** Creates a job, unless there is one for the training file. */
  async createJob(request: JobRequest): Promise<string> {
    const find = async (): Promise<string | null> => {
      for await (const job of this.#client.fineTuning.jobs.list({ limit: 100 }, this.#request())) {
        if (job.training_file === request.training_file) return job.id;
      }
      return null;
    };
    return await this.#once(find, async () => (await this.#client.fineTuning.jobs.create(request, this.#request())).id);
  }

  /** The current state of a job. */
  async job(id: string): Promise<FineTuningJob> {
    return await this.#retried(() => this.#client.fineTuning.jobs.retrieve(id, this.#request()));
  }

  /** The events of a job after a known one, in order of time. */
  async eventsAfter(id: string, known: string | null): Promise<readonly FineTuningJobEvent[]> {
    return await this.#retried(async () => {
      const events: FineTuningJobEvent[] = [];
      for await (const event of this.#client.fineTuning.jobs.listEvents(id, { limit: 100 }, this.#request())) {
        if (event.id === known) break;
        events.push(event);
      }
      return events.reverse();
    });
  }

  /** Finds what an earlier attempt has created, whose response was lost, before it creates it. */
  async #once(find: () => Promise<string | null>, create: () => Promise<string>): Promise<string> {
    return await this.#retried(async () => (await find()) ?? (await create()));
  }

  #request(): { readonly signal: AbortSignal } {
    return { signal: this.#options.signal };
  }

  async #retried<TResult>(request: () => Promise<TResult>): Promise<TResult> {
    const { outageToleranceMs, signal } = this.#options;
    const startMs = systemClock.now();
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await request();
      } catch (error) {
        signal.throwIfAborted();
        const isLate = systemClock.now() - startMs >= outageToleranceMs;
        if (!this.#isTransient(error) || isLate) throw this.#error(error);
        await systemClock.sleep(backoffMs(retryBackoff, attempt), signal);
      }
    }
  }

  #error(error: unknown): AgentLightningError {
    const status = error instanceof this.#sdk.APIError ? error.status : undefined;
    const isRefused = status === 401 || status === 403;
    const isWrong = status !== undefined && status < 500 && status !== 429 && !isRefused;
    return new AgentLightningError({
      code: isRefused ? 'UNAUTHENTICATED' : isWrong ? 'CONFIG' : 'UPSTREAM_FAILED',
      message: `the fine-tuning API at ${this.#options.baseUrl} ${status === undefined ? 'does not respond' : `responded with status ${status}`}: ${errorMessage(error)}`,
      remedy: isRefused
        ? 'Check `runtime.apiKey`.'
        : isWrong
          ? 'Correct the configuration or the data.'
          : 'Resume with `agl train --resume <run>`: what was uploaded and started is used.',
      cause: error,
    });
  }

  #isTransient(error: unknown): boolean {
    const { APIConnectionError, APIError } = this.#sdk;
    if (error instanceof APIConnectionError) return true;
    return error instanceof APIError && (error.status === 429 || (error.status ?? 0) >= 500);
  }
}
