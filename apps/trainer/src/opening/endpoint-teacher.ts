import { AgentLightningError } from '@agentlightning/core';
import {
  assertKeyIsEncrypted,
  isRetryableStatus,
  isTransient,
  systemClock,
  withRetry,
} from '@agentlightning/core/internal';
import type { TrainableModel, TrainingDatum } from '@agentlightning/core/training-runtime';
import pMap from 'p-map';
import { z } from 'zod';
import { areInsecureKeysAllowed } from '../config/environment.ts';
import type { ForcedEndpoint } from '../stored-data/forced-call.ts';

/** Limits of requests to a teacher. */
export interface TeacherLimits {
  /** Limit for a response, in milliseconds. */
  readonly timeoutMs: number;
  /** Number of tries of a request. */
  readonly tries: number;
  /** Delay between two tries, in milliseconds. */
  readonly retryDelayMs: number;
}

const defaultLimits: TeacherLimits = { timeoutMs: 120_000, tries: 4, retryDelayMs: 1000 };

/** Number of concurrent requests. */
const concurrency = 8;

/** Letters, digits and punctuation that tokenizers split in different ways. */
export const probeText =
  'The 12 quick (brown) foxes jumped_over 3,456.78 lazy dogs; isn\'t it? {"key": [true, null]} => return x++;';

/**
 * A teacher behind an OpenAI-compatible endpoint that returns the log-probabilities of prompt tokens, as vLLM does
 * (`prompt_logprobs` of `/completions`).
 *
 * Its failures are errors of the infrastructure: the step is not trained, and the run can be resumed.
 */
export class EndpointTeacher implements Pick<TrainableModel, 'logprobs'> {
  readonly #endpoint: ForcedEndpoint;
  readonly #limits: TeacherLimits;

  /** @throws AgentLightningError CONFIG for a key that would be sent over plain `http:` to another machine */
  constructor(endpoint: ForcedEndpoint, limits: TeacherLimits = defaultLimits) {
    if (endpoint.apiKey !== null && !areInsecureKeysAllowed())
      assertKeyIsEncrypted({ receiver: 'Teacher', url: endpoint.baseUrl, option: 'AGL_ALLOW_INSECURE_KEYS=1' });
    this.#endpoint = endpoint;
    this.#limits = limits;
  }

  /**
   * @throws AgentLightningError CONFIG for a sequence with images; UNREACHABLE or TIMEOUT when the endpoint does not respond, after retries; UNAUTHENTICATED for a wrong
   *   key; UPSTREAM_FAILED when it refuses a request, or scores other tokens or fewer
   */
  async logprobs({ data }: { readonly data: readonly TrainingDatum[] }): Promise<readonly Float32Array[]> {
    return await pMap(data, (datum) => this.#score(datum), { concurrency });
  }

  /**
   * Asserts that token ids mean the same to the teacher.
   *
   * @param tokenIds - of a prompt with {@link probeText}, by the tokenizer of the policy
   * @throws AgentLightningError CONFIG when they do not
   */
  async assertSameTokenizer(tokenIds: readonly number[]): Promise<void> {
    const scores = await this.#scoresOf(tokenIds);
    const text = tokenIds.map((id, position) => scores[position]?.[String(id)]?.decoded_token ?? '').join('');
    if (withoutSpaces(text).includes(withoutSpaces(probeText))) return;
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `the teacher ${this.#endpoint.model} has another tokenizer than the policy: it reads the token ids of ${JSON.stringify(probeText)} as ${JSON.stringify(text.slice(0, 200))}`,
      remedy: 'Choose a teacher of the same model family, with the same tokenizer.',
    });
  }

  async #score({ tokenIds, trained, images = [] }: TrainingDatum): Promise<Float32Array> {
    if (images.length > 0) {
      throw new AgentLightningError({
        code: 'CONFIG',
        message: `the teacher ${this.#endpoint.model} gets token ids only, and the prompt of a rollout has an image`,
        remedy: 'Choose a teacher of the runtime: { model } or { run }.',
      });
    }
    const scores = await this.#scoresOf([...tokenIds]);
    return Float32Array.from(
      trained.flatMap(({ start, end }) =>
        Array.from({ length: end - start }, (_, offset) => {
          const tokenId = tokenIds[start + offset] ?? -1;
          const score = scores[start + offset]?.[String(tokenId)]?.logprob;
          if (score !== undefined) return score;
          throw this.#invalid(`no log-probability of token ${tokenId} at position ${start + offset}`);
        }),
      ),
    );
  }

  async #scoresOf(tokenIds: readonly number[]): Promise<readonly (PositionScores | null)[]> {
    const { tries, retryDelayMs } = this.#limits;
    return await withRetry(() => this.#request(tokenIds), {
      clock: systemClock,
      delayMs: (error, failures) => (isTransient(error) && failures < tries ? retryDelayMs : null),
    });
  }

  async #request(tokenIds: readonly number[]): Promise<readonly (PositionScores | null)[]> {
    const { model } = this.#endpoint;
    // A completion has at least one token.
    const { status, text } = await this.#post({ model, prompt: tokenIds, max_tokens: 1, prompt_logprobs: 1 });
    if (isRetryableStatus(status)) throw this.#failed('UNREACHABLE', `does not respond (status ${status})`);
    if (status === 401 || status === 403) throw this.#failed('UNAUTHENTICATED', `rejects the key (status ${status})`);
    if (status !== 200)
      throw this.#failed('UPSTREAM_FAILED', `refuses a request (status ${status}): ${text.slice(0, 300)}`);
    const response = responseSchema.safeParse(parsedJson(text));
    if (!response.success) throw this.#invalid('no `prompt_logprobs`');
    const [{ prompt_logprobs: scores }] = response.data.choices;
    if (scores.length === tokenIds.length) return scores;
    throw this.#invalid(`log-probabilities of ${scores.length} of ${tokenIds.length} prompt tokens`);
  }

  async #post(body: object): Promise<{ readonly status: number; readonly text: string }> {
    const { baseUrl, apiKey } = this.#endpoint;
    try {
      const response = await fetch(`${baseUrl}/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(this.#limits.timeoutMs),
      });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      const isLate = error instanceof Error && error.name === 'TimeoutError';
      if (isLate) throw this.#failed('TIMEOUT', `did not respond in ${this.#limits.timeoutMs} ms`);
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      throw this.#failed('UNREACHABLE', `does not respond (${cause})`);
    }
  }

  #invalid(what: string): AgentLightningError {
    return this.#failed('UPSTREAM_FAILED', `returned ${what}`);
  }

  #failed(code: 'UNREACHABLE' | 'TIMEOUT' | 'UNAUTHENTICATED' | 'UPSTREAM_FAILED', what: string): AgentLightningError {
    const { baseUrl, model } = this.#endpoint;
    return new AgentLightningError({
      code,
      message: `the teacher ${model} at ${baseUrl} ${what}`,
      remedy:
        'Check the endpoint of `algorithm.teacher`: it must return `prompt_logprobs` of token ids, as vLLM does. Then resume the run with `agl train --resume <run>`.',
    });
  }
}

/** The scores of the tokens at a position, by token id. */
type PositionScores = Readonly<Record<string, z.infer<typeof tokenScore>>>;

const tokenScore = z.object({ logprob: z.number(), decoded_token: z.string().nullish() });

/** The first token has no context, and so no score. */
const responseSchema = z.object({
  choices: z.tuple([z.object({ prompt_logprobs: z.array(z.record(z.string(), tokenScore).nullable()) })], z.unknown()),
});

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Refused like JSON of another form.
    return null;
  }
}

function withoutSpaces(text: string): string {
  return text.replaceAll(/\s/g, '');
}
