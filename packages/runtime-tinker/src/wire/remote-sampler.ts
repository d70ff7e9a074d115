import { AgentLightningError } from '@agentlightning/core';
import { readSamples, type SampledSequence, type SampleRequest, sampleAsJson } from './sample-messages.ts';
import type { TinkerReply } from './server-refusal.ts';
import { readJson } from './tinker-http.ts';
import type { TinkerLink } from './tinker-link.ts';

/** Samples from one published version of a model's weights. */
export class RemoteSampler {
  readonly id: string;
  readonly #link: TinkerLink;
  readonly #causeOf: (error: unknown) => Promise<unknown>;
  #sequence = 0;

  /** @param causeOf - the cause of a failure, which may be that the server has lost the model */
  constructor(link: TinkerLink, id: string, causeOf: (error: unknown) => Promise<unknown>) {
    this.#link = link;
    this.id = id;
    this.#causeOf = causeOf;
  }

  /** One sample. */
  async sample(request: SampleRequest): Promise<SampledSequence> {
    const place = { session: this.id, sequence: this.#sequence, isJson: this.#link.dialect === 'json' };
    this.#sequence += 1;
    const submit = async (): Promise<TinkerReply> => {
      const reply = await this.#link.onCreated('asample', () =>
        this.#link.http.post('asample', sampleAsJson(request, place)),
      );
      this.#learnDialect(reply);
      return reply;
    };
    const result = await this.#link.result('asample', submit).catch(async (error: unknown) => {
      throw await this.#causeOf(error);
    });
    const [sample] = readSamples(result);
    if (sample !== undefined && sample.logprobs.length === sample.tokens.length) return sample;
    throw new AgentLightningError({
      code: 'RUNTIME_UNAVAILABLE',
      message: `The Tinker server returned a sample of ${sample?.tokens.length ?? 0} tokens with ${sample?.logprobs.length ?? 0} log-probabilities`,
      remedy: 'Check the version of the server.',
    });
  }

  /** Servers of the newest dialect name the samples of a request. */
  #learnDialect(reply: TinkerReply): void {
    if (reply.status >= 400 || this.#link.dialect === 'json') return;
    const promise = readJson(reply);
    const isNewest = typeof promise === 'object' && promise !== null && 'sample_sequence_ids' in promise;
    if (isNewest) this.#link.dialect = 'sequences';
  }
}
