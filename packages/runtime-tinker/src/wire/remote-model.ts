import { AgentLightningError } from '@agentlightning/core';
import type { ResolvedAdam } from '@agentlightning/runtime';
import * as z from 'zod';
import { encodePass, type PassDatum, type PassRequest, passAsJson, readPass } from './pass-messages.ts';
import { RemoteSampler } from './remote-sampler.ts';
import { type TinkerReply, unknownDialect } from './server-refusal.ts';
import { protobufType, readAs, readJson } from './tinker-http.ts';
import { type PassLimits, requestIdOf, type TinkerLink } from './tinker-link.ts';

/** Statuses of a server that does not read binary passes. */
const notBinary: ReadonlySet<number> = new Set([400, 415, 422]);

const stepSchema = z.looseObject({ metrics: z.record(z.string(), z.unknown()).nullish() });
const savedSchema = z.looseObject({ path: z.string() });
const samplerSchema = z.looseObject({ sampling_session_id: z.string() });

/** A request of a model: its name, and its content by its number in the model's sequence. */
interface Mutation {
  readonly path: string;
  readonly send: (sequence: number, isRepeatable: boolean) => Promise<TinkerReply>;
}

/** A model as the server has created it. */
export interface CreatedModel extends Pick<RemoteModel, 'id' | 'alpha'> {
  /** Called when it is unloaded. */
  readonly onUnload: () => void;
}

/**
 * A model on the server. Requests that change it are numbered, and each is sent when the server has accepted the one before:
 * some servers execute in the order of arrival, not of the numbers.
 */
export class RemoteModel {
  readonly id: string;
  /** LoRA's alpha as the server states it; null: not stated. */
  readonly alpha: number | null;
  readonly #link: TinkerLink;
  readonly #onUnload: () => void;
  /** Whether the server has done something with the model. */
  #isKnown = false;
  #sequence = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(link: TinkerLink, { id, alpha, onUnload }: CreatedModel) {
    this.#link = link;
    this.id = id;
    this.alpha = alpha;
    this.#onUnload = onUnload;
  }

  /** The log-probabilities of all tokens from the second on, without gradients. */
  async score(data: readonly PassDatum[]): Promise<readonly Float32Array[]> {
    return await this.#pass(data, { loss: 'cross_entropy', isForwardOnly: true });
  }

  /**
   * Adds gradients of importance sampling, and returns the log-probabilities.
   *
   * @param options.multipliesByTokens - for a server that divides by the trained tokens of each request
   */
  async addGradients(
    data: readonly PassDatum[],
    { multipliesByTokens = false }: { readonly multipliesByTokens?: boolean } = {},
  ): Promise<readonly Float32Array[]> {
    const prepare = multipliesByTokens ? multipliedByTokens : undefined;
    return await this.#pass(data, { loss: 'importance_sampling', isForwardOnly: false }, prepare);
  }

  async #pass(
    data: readonly PassDatum[],
    kind: Pick<PassRequest, 'loss' | 'isForwardOnly'>,
    prepare: (chunk: readonly PassDatum[]) => readonly PassDatum[] = (chunk) => chunk,
  ): Promise<readonly Float32Array[]> {
    const sent: Promise<readonly Float32Array[]>[] = [];
    for (const chunk of chunksOf(data, this.#link.limits).map(prepare)) {
      const result = await this.#submit({
        path: kind.isForwardOnly ? 'forward' : 'forward_backward',
        send: (sequence, isRepeatable) =>
          this.#sendPass({ ...kind, modelId: this.id, sequence, data: chunk }, isRepeatable || kind.isForwardOnly),
      });
      const outcome = result().then((reply) => readPass(reply, chunk));
      outcome.catch(() => undefined);
      sent.push(outcome);
    }
    return (await Promise.all(sent)).flat();
  }

  async #sendPass(pass: PassRequest, isRepeatable: boolean): Promise<TinkerReply> {
    const { http, dialect } = this.#link;
    const options = { accept: `application/json, ${protobufType}`, isRepeatable };
    const jsonPath = pass.isForwardOnly ? 'forward' : 'forward_backward';
    if (dialect === 'json') return await http.post(jsonPath, passAsJson(pass), options);
    const isUnknown = dialect === null;
    const reply = await http.post('forward_backward', encodePass(pass), { ...options, returnsFailures: isUnknown });
    // Some servers that do not read binary messages fail instead of refusing them.
    if (isUnknown && (notBinary.has(reply.status) || reply.status >= 500)) {
      const asJson = await http.post(jsonPath, passAsJson(pass), { ...options, returnsFailures: true });
      if (asJson.status < 400) {
        this.#link.dialect = 'json';
        return asJson;
      }
      if (reply.status === 415) throw unknownDialect(reply, asJson);
      if (reply.status >= 500) return await http.post('forward_backward', encodePass(pass), options);
    }
    if (reply.status < 400) this.#link.dialect ??= 'binary';
    return reply;
  }

  /** Takes an optimizer step with the gradients since the last one; returns the server's metrics. */
  async step(adam: ResolvedAdam): Promise<Readonly<Record<string, number>>> {
    const reply = await this.#result('optim_step', {
      adam_params: {
        learning_rate: adam.learningRate,
        beta1: adam.beta1,
        beta2: adam.beta2,
        eps: adam.epsilon,
        weight_decay: adam.weightDecay,
        grad_clip_norm: adam.gradientClipNorm,
      },
    });
    const { metrics } = readAs(stepSchema, readJson(reply, 'optim_step'), 'the result of a step');
    const numbers = Object.entries(metrics ?? {}).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number',
    );
    return Object.fromEntries(numbers);
  }

  /** Saves weights and optimizer under a new name; returns the server's URI. */
  async saveWeights(name: string): Promise<string> {
    const reply = await this.#result('save_weights', { path: name, overwrite: false });
    return readAs(savedSchema, readJson(reply, 'save_weights'), 'the saved weights').path;
  }

  /** Loads weights of this base and rank. */
  async loadWeights(path: string, withOptimizer: boolean): Promise<void> {
    readJson(await this.#result('load_weights', { path, optimizer: withOptimizer }), 'load_weights');
  }

  /** Makes the current weights available for sampling. */
  async publish(): Promise<RemoteSampler> {
    const reply = await this.#result('save_weights_for_sampler', {
      sampling_session_seq_id: this.#link.nextSamplingSession(),
      kind: 'snapshot',
    });
    const { sampling_session_id: id } = readAs(
      samplerSchema,
      readJson(reply, 'save_weights_for_sampler'),
      'the sampling session',
    );
    return new RemoteSampler(this.#link, id, (error) => this.#causeOf(error));
  }

  /** Frees the model on servers that can; others free it when its session has ended. */
  async unload(): Promise<void> {
    await unloadModel(this.#link, this.id);
    this.#onUnload();
  }

  async #result(path: string, content: object): Promise<TinkerReply> {
    const result = await this.#submit({
      path,
      send: (sequence, isRepeatable) => {
        const body = { ...content, model_id: this.id, seq_id: sequence, type: path };
        return this.#link.http.post(path, body, { isRepeatable });
      },
    });
    return await result();
  }

  /** Submits a request in its turn; the returned function waits for the result. */
  async #submit(mutation: Mutation): Promise<() => Promise<TinkerReply>> {
    // Loading is refused for a checkpoint that has expired, too.
    const causeOf = async (error: unknown): Promise<unknown> =>
      mutation.path === 'load_weights' ? error : await this.#causeOf(error);
    try {
      const result = await this.#enqueue(mutation);
      return async () => {
        try {
          const reply = await result();
          this.#isKnown = true;
          return reply;
        } catch (error) {
          throw await causeOf(error);
        }
      };
    } catch (error) {
      throw await causeOf(error);
    }
  }

  /**
   * The cause of a rejection. Some servers that have lost a model reject what is done with it as they reject a wrong request: when they
   * reject the smallest pass as well, the model is lost.
   */
  async #causeOf(error: unknown): Promise<unknown> {
    if (!isRejection(error) || !this.#isKnown) return error;
    const data = [{ tokenIds: Int32Array.of(1, 2), inputs: {} }];
    const pass = { loss: 'cross_entropy', isForwardOnly: true, modelId: this.id, data } as const;
    const probe = await this.#enqueue({
      path: 'forward',
      send: (sequence) => this.#sendPass({ ...pass, sequence }, true),
    })
      .then((result) => result())
      .catch((failure: unknown) => failure);
    return isRejection(probe) ? this.#link.lost(error) : error;
  }

  async #enqueue({ path, send }: Mutation): Promise<() => Promise<TinkerReply>> {
    const turn = this.#turn.then(async () => {
      const sequence = this.#sequence + 1;
      const sendOnce = (): Promise<TinkerReply> => send(sequence, this.#link.dialect !== 'json');
      const submit = path === 'load_weights' ? sendOnce : () => this.#link.onCreated(path, sendOnce);
      const requestId = requestIdOf(path, await submit());
      // A request that was refused has no place in the sequence.
      this.#sequence = sequence;
      return () => this.#link.resultOf(path, requestId, submit);
    });
    this.#turn = turn.catch(() => undefined);
    return await turn;
  }
}

/** Frees a model; a server that does not have it refuses, which is ignored. */
export async function unloadModel({ http }: TinkerLink, id: string): Promise<void> {
  await http.post('unload_model', { model_id: id, type: 'unload_model' });
}

function isRejection(error: unknown): error is AgentLightningError {
  return AgentLightningError.isInstance(error) && error.code === 'RUNTIME_REJECTED';
}

/** The data of one request for a server that divides by the request's trained tokens. */
function multipliedByTokens(chunk: readonly PassDatum[]): readonly PassDatum[] {
  const tokens = chunk.reduce((sum, { inputs }) => sum + (inputs['weights']?.reduce((a, b) => a + b, 0) ?? 0), 0);
  return chunk.map(({ tokenIds, inputs: { advantages, ...inputs } }) => ({
    tokenIds,
    inputs: { ...inputs, ...(advantages && { advantages: advantages.map((advantage) => advantage * tokens) }) },
  }));
}

/** Bytes of a token: its id, its target and its inputs. */
function bytesOfDatum({ tokenIds, inputs }: PassDatum): number {
  return tokenIds.length * (4 + 8 + 4 * Object.keys(inputs).length);
}

/** Cuts data into requests that the server accepts. */
function chunksOf(data: readonly PassDatum[], { maxData, maxBytes }: PassLimits): readonly (readonly PassDatum[])[] {
  const chunks: PassDatum[][] = [];
  let bytes = 0;
  for (const datum of data) {
    const size = bytesOfDatum(datum);
    const last = chunks.at(-1);
    if (last === undefined || last.length >= maxData || bytes + size > maxBytes) {
      chunks.push([datum]);
      bytes = size;
    } else {
      last.push(datum);
      bytes += size;
    }
  }
  return chunks;
}
