import { createHash } from 'node:crypto';
import { fineTuneExamples } from '@agentlightning/algorithms/internal';
import { AgentLightningError, type JsonValue, type Rollout, type Span, type Store } from '@agentlightning/core';
import type { CollectedGroup } from '@agentlightning/core/algorithm';
import { modelCallAttributes } from '@agentlightning/core/internal';
import { modelCallFromSpan, rewardFromSpan } from '@agentlightning/core/spans';
import { defaultRolloutConfig } from '@agentlightning/core/store';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { dataText, type ResolvedData } from '../config/sections/data-config.ts';
import { sinceMs } from '../config/sections/since.ts';
import { type FinishedRollout, readFinishedRollouts } from '../results/finished-rollout.ts';
import { rolloutReward } from '../results/rollout-reward.ts';
import { type DataFile, type DataGroup, parseDataLines, readDataFile } from './data-file.ts';
import { encodeConversation, rewardSpan } from './encode-conversation.ts';
import type { ForcedEndpoint } from './forced-call.ts';
import { jsonLines, readDataset } from './named-dataset.ts';

/** How groups are read. */
export interface ReadOptions {
  /** Encodes messages that were stored without token ids, or with those of another model. */
  readonly endpoint: ForcedEndpoint;
  /** Whether the algorithm needs the log-probabilities at sampling, which encoded messages do not have. */
  readonly needsSampling: boolean;
}

/** The data of a training without new rollouts. */
export interface StoredData {
  /** The input of each group; at least one. */
  readonly tasks: readonly JsonValue[];
  /** Identifies the selection: a resumed run must have the same one. */
  readonly fingerprint: string;
  /** The examples of groups, by their indices, made of rollouts with their messages. */
  examples(
    groups: readonly number[],
    format: { readonly isPaired: boolean; readonly create: (groups: readonly CollectedGroup[]) => readonly object[] },
  ): Promise<readonly object[]>;
  /** The rollouts of groups, with token ids, by their indices. */
  read(groups: readonly number[], options: ReadOptions): Promise<readonly FinishedRollout[]>;
}

/**
 * Opens the data of a run.
 *
 * @param options.untilMs - rollouts that ended later are excluded, so that a resumed run has the same ones
 * @throws AgentLightningError NOT_FOUND for an unknown run, NOTHING_TO_TRAIN without a rollout, TASK_FILE for an invalid file
 */
export async function openStoredData(
  store: Store,
  data: ResolvedData,
  options: { readonly untilMs: number } & Pick<ResolvedConfig, 'reward'>,
): Promise<StoredData> {
  if (data.type === 'run') return await openRollouts(store, data, options);
  if (data.type === 'file') return openExamples(data.file, await readDataFile(data.file));
  const lines = jsonLines(await readDataset(store, data.dataset, data.part));
  return openExamples(data.dataset, parseDataLines(lines, data.dataset));
}

/** Maximum number of groups of a file that are kept encoded, to bound memory. */
const maxCached = 4096;

function openExamples(file: string, { groups, digest }: DataFile): StoredData {
  // Encoded once, not in every epoch.
  const cache = new Map<number, readonly FinishedRollout[]>();
  return {
    tasks: groups.map(({ input }) => input),
    fingerprint: `${groups.length} examples (${digest.slice(0, 12)})`,
    examples: (indices, { isPaired }) =>
      Promise.resolve(indices.flatMap((index) => vendorExamples(groups[index], isPaired))),
    read: async (indices, { endpoint, needsSampling }) => {
      if (needsSampling) throw withoutSampling(file);
      const rollouts: FinishedRollout[] = [];
      for (const index of indices) {
        const group = groups[index];
        if (group === undefined) continue;
        const encodedRollouts = cache.get(index) ?? (await encodedGroup(group, index, endpoint));
        if (cache.size < maxCached) cache.set(index, encodedRollouts);
        rollouts.push(...encodedRollouts);
      }
      return rollouts;
    },
  };
}

/** The lines of a group in the format of OpenAI: a pair, or the conversations with a positive verdict. */
function vendorExamples(group: DataGroup | undefined, isPaired: boolean): readonly object[] {
  const examples = group?.examples ?? [];
  if (!isPaired) return examples.filter(({ reward }) => reward > 0).map(({ conversation }) => conversation);
  const [first, second] = examples;
  if (group === undefined || first === undefined || second === undefined) return [];
  const { messages, tools } = first.conversation;
  return [
    {
      input: { messages: messages.slice(0, group.promptLength).map(({ weight: _, ...shown }) => shown), tools },
      preferred_output: messages.slice(group.promptLength),
      non_preferred_output: second.conversation.messages.slice(group.promptLength),
    },
  ];
}

async function encodedGroup(
  { input, examples }: DataGroup,
  index: number,
  endpoint: ForcedEndpoint,
): Promise<readonly FinishedRollout[]> {
  const rollouts: FinishedRollout[] = [];
  for (const [place, { conversation, reward }] of examples.entries()) {
    const owner = { rolloutId: `example-${index + 1}-${place + 1}`, attemptId: 'stored' };
    const calls = await encodeConversation(conversation, owner, endpoint);
    rollouts.push({
      rollout: exampleRollout(owner.rolloutId, input, index),
      attemptId: owner.attemptId,
      spans: [...calls, rewardSpan(reward, owner, calls.length + 1)],
      failure: null,
      failureCause: null,
    });
  }
  return rollouts;
}

function exampleRollout(rolloutId: string, input: JsonValue, index: number): Rollout {
  return {
    rolloutId,
    input,
    status: 'succeeded',
    mode: 'train',
    resourcesId: null,
    runId: null,
    config: defaultRolloutConfig,
    metadata: { group_id: `example-${index + 1}`, task_index: index },
    startTimeMs: 0,
    endTimeMs: 0,
  };
}

type RunData = Extract<ResolvedData, { readonly type: 'run' }>;

async function openRollouts(
  store: Store,
  data: RunData,
  { untilMs, reward }: { readonly untilMs: number } & Pick<ResolvedConfig, 'reward'>,
): Promise<StoredData> {
  await store.getRun(data.run);
  const fromMs = data.since === null ? null : sinceMs(data.since, untilMs);
  const { items } = await store.queryRollouts({
    runId: data.run,
    statusIn: ['succeeded', 'failed'],
    endTimeBeforeMs: untilMs,
    ...(fromMs === null ? {} : { endTimeFromMs: fromMs }),
    sortBy: 'rolloutId',
  });
  const trainable = items.filter(({ mode }) => mode !== 'test' && mode !== 'val');
  const selected = data.minScore === null ? trainable : await withScore(store, trainable, data.minScore, reward);
  if (selected.length === 0) throw nothingStored(data, items.length);
  const groups = [...Map.groupBy(selected, groupKey).values()];
  const reader = new RolloutReader(store, data.run);
  return {
    tasks: groups.map((members) => members[0]?.input ?? null),
    fingerprint: dataText(data),
    examples: async (indices, { create }) => {
      const members = indices.map((index) => groups[index] ?? []);
      const read = await readFinishedRollouts(store, members.flat());
      const byId = new Map(read.map((each) => [each.rollout.rolloutId, each]));
      return create(
        members.map((rollouts, place) => ({
          groupId: String(indices[place]),
          rollouts: rollouts.flatMap(({ rolloutId }) => byId.get(rolloutId) ?? []),
        })),
      );
    },
    read: (indices, options) =>
      reader.read(
        indices.flatMap((index) =>
          (groups[index] ?? []).map((rollout) => ({
            ...rollout,
            metadata: { ...rollout.metadata, group_id: `stored-${index + 1}`, task_index: index },
          })),
        ),
        options,
      ),
  };
}

/** Rollouts of the same group of a training, or of the same input. */
function groupKey({ metadata, input }: Rollout): string {
  const group = metadata?.['group_id'];
  return typeof group === 'string' ? group : createHash('sha256').update(JSON.stringify(input)).digest('hex');
}

/** Number of rollouts that are read together, to bound memory. */
const chunkSize = 512;

async function withScore(
  store: Store,
  rollouts: readonly Rollout[],
  minScore: number,
  reward: ResolvedConfig['reward'],
): Promise<readonly Rollout[]> {
  const selected: Rollout[] = [];
  for (let start = 0; start < rollouts.length; start += chunkSize) {
    const finished = await readFinishedRollouts(store, rollouts.slice(start, start + chunkSize));
    selected.push(
      ...finished
        .filter((each) => (rolloutReward(each, reward) ?? Number.NEGATIVE_INFINITY) >= minScore)
        .map(({ rollout }) => rollout),
    );
  }
  return selected;
}

/** Reads stored rollouts, and encodes those without token ids of the model in training. */
class RolloutReader {
  readonly #store: Store;
  readonly #run: string;
  /** Whether stored token ids are those of the model in training; null until it is known. */
  #hasOwnTokens: boolean | null = null;

  constructor(store: Store, run: string) {
    this.#store = store;
    this.#run = run;
  }

  async read(rollouts: readonly Rollout[], options: ReadOptions): Promise<readonly FinishedRollout[]> {
    const finished = await readFinishedRollouts(this.#store, rollouts);
    this.#hasOwnTokens ??= await hasOwnTokens(finished, options.endpoint);
    if (!this.#hasOwnTokens && options.needsSampling) throw otherTokens(this.#run);
    const read: FinishedRollout[] = [];
    for (const each of finished) {
      const isUsable = this.#hasOwnTokens && callsOf(each).every(({ isTrainable }) => isTrainable);
      read.push(isUsable || options.needsSampling ? withoutVersions(each) : await encoded(each, options.endpoint));
    }
    return read;
  }
}

function callsOf({ spans }: FinishedRollout) {
  return spans.flatMap((span) => {
    const call = modelCallFromSpan(span);
    return call === null ? [] : [call];
  });
}

/** Policy versions of another run say nothing about the age of tokens in this one. */
function withoutVersions(finished: FinishedRollout): FinishedRollout {
  const spans = finished.spans.map((span): Span => {
    if (modelCallFromSpan(span) === null) return span;
    const {
      [modelCallAttributes.policyVersion]: _version,
      [modelCallAttributes.responsePolicyVersions]: _versions,
      ...attributes
    } = span.attributes;
    return { ...span, attributes };
  });
  return { ...finished, spans };
}

/** The rollout with the calls of its conversations encoded, and its rewards. Without a complete conversation it has no calls. */
async function encoded(finished: FinishedRollout, endpoint: ForcedEndpoint): Promise<FinishedRollout> {
  const { rollout, attemptId, spans } = finished;
  const owner = { rolloutId: rollout.rolloutId, attemptId: attemptId ?? '' };
  const calls: Span[] = [];
  for (const conversation of conversationsOf(finished)) {
    for (const call of await encodeConversation(conversation, owner, endpoint)) {
      const sequenceId = calls.length + 1;
      calls.push({ ...call, sequenceId, spanId: `${call.spanId.slice(0, 12)}${String(sequenceId).padStart(4, '0')}` });
    }
  }
  const rewards = spans
    .filter((span) => rewardFromSpan(span) !== null)
    .map((span) => ({ ...span, sequenceId: span.sequenceId + calls.length }));
  return { ...finished, spans: [...calls, ...rewards] };
}

function conversationsOf(finished: FinishedRollout): ReturnType<typeof fineTuneExamples> {
  return fineTuneExamples([{ groupId: finished.rollout.rolloutId, rollouts: [finished] }]);
}

/** Number of rollouts whose prompts are compared; a redacted prompt differs without another tokenizer. */
const comparedRollouts = 8;

/** Whether the tokens of a stored prompt are those that the model in training makes of its messages. */
async function hasOwnTokens(finished: readonly FinishedRollout[], endpoint: ForcedEndpoint): Promise<boolean> {
  const stored = finished.flatMap((each) => {
    const call = callsOf(each).find(({ promptTokenIds }) => promptTokenIds.length > 0);
    const [conversation] = conversationsOf(each);
    return call === undefined || conversation === undefined ? [] : [{ call, conversation }];
  });
  for (const { call, conversation } of stored.slice(0, comparedRollouts)) {
    const owner = { rolloutId: call.rolloutId, attemptId: call.attemptId };
    try {
      const [first] = await encodeConversation(conversation, owner, endpoint);
      const prompt = first === undefined ? [] : (modelCallFromSpan(first)?.promptTokenIds ?? []);
      if (prompt.length === call.promptTokenIds.length && prompt.every((id, at) => id === call.promptTokenIds[at])) {
        return true;
      }
    } catch (error) {
      // An endpoint that cannot encode messages cannot compare them either.
      if (AgentLightningError.isInstance(error) && error.code === 'UPSTREAM_FAILED') return true;
      throw error;
    }
  }
  return stored.length === 0;
}

function withoutSampling(file: string): AgentLightningError {
  return new AgentLightningError({
    code: 'NOTHING_TO_TRAIN',
    message: `${file} has messages without the token ids and log-probabilities at sampling, which a policy gradient needs`,
    remedy: 'Use the algorithm sft, dpo or kto, or rollouts of this model: `data: fromRun(…)`.',
  });
}

function otherTokens(run: string): AgentLightningError {
  return new AgentLightningError({
    code: 'NOTHING_TO_TRAIN',
    message: `the rollouts of ${run} have the token ids of another tokenizer or chat template`,
    remedy:
      'Use the algorithm sft, dpo or kto, which encode the messages again, or the model that served the rollouts.',
  });
}

function nothingStored({ run, since, minScore }: RunData, ended: number): AgentLightningError {
  const conditions = [
    ...(since === null ? [] : [`since ${since}`]),
    ...(minScore === null ? [] : [`with a reward of at least ${minScore}`]),
  ];
  return new AgentLightningError({
    code: 'NOTHING_TO_TRAIN',
    message: `${run} has no finished training or production rollout ${conditions.join(' and ')}`.trimEnd(),
    remedy: `Read \`agl rollouts --run ${run}\`: ${ended} rollouts ended in this time.`,
  });
}
