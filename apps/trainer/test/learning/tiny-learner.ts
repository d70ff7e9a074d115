import type { Algorithm, JsonObject, Span } from '@agentlightning/core';
import type {
  CollectedGroup,
  CollectedRollout,
  PromptRequest,
  ScoringRequest,
  SequenceScores,
  StepPlan,
} from '@agentlightning/core/algorithm';
import { genAiAttributes } from '@agentlightning/core/internal';
import { agentLightningAttributes, spanNames } from '@agentlightning/core/spans';
import { aModelCallSpan, aRewardSpan, aRollout, aSpan } from '@agentlightning/core/testing';
import { ModelEngine, parseResponse, renderPrompt } from '@agentlightning/runtime-cpu/internal';

type ChatMessage = Parameters<typeof renderPrompt>[0][number];
type ChatTool = Parameters<typeof renderPrompt>[1][number];

/** What a model said, and which part it asked a tool for. */
export interface Said {
  readonly text: string;
  readonly toolArguments: string | null;
  readonly message: ChatMessage;
}

/** One run of an agent, as its rollout sees it: what it says and does leaves spans. */
export class Episode {
  readonly spans: Span[] = [];
  /** What the rollout is measured by. @default its reward */
  score: number | null = null;
  readonly #engine: ModelEngine;
  readonly #rolloutId: string;
  readonly #seed: number;

  constructor(engine: ModelEngine, rolloutId: string, seed: number) {
    this.#engine = engine;
    this.#rolloutId = rolloutId;
    this.#seed = seed;
  }

  /** One of two, for each rollout by its seed: nothing that the model does changes it. */
  get hasLuck(): boolean {
    return Math.imul(this.#seed, 0x9e3779b1) >>> 31 === 1;
  }

  /** A model call with at most `maxTokens` tokens. */
  async ask(messages: readonly ChatMessage[], tools: readonly ChatTool[], maxTokens: number): Promise<Said> {
    const promptTokens = renderPrompt(messages, tools);
    const seed = Math.imul(this.#seed, 31) + this.spans.length;
    const { choices, finishReason, weightVersion } = await this.#engine.sample({
      promptTokens,
      maxTokens,
      temperature: 1,
      topP: 1,
      topLogprobs: 0,
      stop: [],
      seed: seed >>> 0,
    }).result;
    const tokens = choices.map(({ token }) => token);
    const responseLogprobs = choices.map(({ logprob }) => logprob);
    const { content, toolCalls } = parseResponse(tokens, { tools, finishReason, callIdPrefix: 'call' });
    const message = {
      role: 'assistant',
      content,
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
    } as const;
    this.#add(
      aModelCallSpan({
        promptTokenIds: promptTokens,
        choices: [{ index: 0, responseTokenIds: tokens, responseLogprobs, finishReason }],
        policyVersion: weightVersion,
        sequenceId: this.#next,
        rolloutId: this.#rolloutId,
        request: jsonOf({ messages, tools }),
        response: jsonOf({ choices: [{ message }] }),
      }),
    );
    return { text: content ?? '', toolArguments: toolCalls[0]?.function.arguments ?? null, message };
  }

  /** A tool call that worked or failed, as adapters record it. @param result - what it returned. @default nothing */
  tool(
    isFine: boolean,
    { name = 'count_stock', result = null }: { readonly name?: string; readonly result?: string | null } = {},
  ): void {
    const attributes = {
      [agentLightningAttributes.stepKind]: 'tool-call',
      [genAiAttributes.toolName]: name,
      ...(result === null ? {} : { [genAiAttributes.toolCallResult]: result }),
    };
    const status = { code: isFine ? ('OK' as const) : ('ERROR' as const), message: null };
    this.#add(aSpan({ attributes, status, sequenceId: this.#next, rolloutId: this.#rolloutId }));
  }

  /** A text for the model, as `emitMessage` records it. */
  tell(text: string): void {
    const attributes = { [agentLightningAttributes.messageBody]: text };
    this.#add(aSpan({ name: spanNames.message, attributes, sequenceId: this.#next, rolloutId: this.#rolloutId }));
  }

  reward(value: number): void {
    this.#add(aRewardSpan(value, { sequenceId: this.#next, rolloutId: this.#rolloutId }));
  }

  collected(): CollectedRollout {
    const rollout = aRollout({ rolloutId: this.#rolloutId, status: 'succeeded' });
    return { rollout, attemptId: 'at-1', spans: this.spans };
  }

  get #next(): number {
    return this.spans.length + 1;
  }

  #add(span: Span): void {
    this.spans.push(span);
  }
}

function jsonOf(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

/** An agent: works on a task, and says how well it went. */
export type TinyAgent<TTask> = (task: TTask, episode: Episode) => Promise<number>;

/** How something is learnt. */
export interface Lesson<TTask> {
  readonly engine: ModelEngine;
  readonly algorithm: Algorithm;
  readonly agent: TinyAgent<TTask>;
  readonly tasksOfStep: (step: number) => readonly TTask[];
  readonly steps: number;
  readonly seed?: number;
  /** What samples. @default the model that is trained, with the weights of the moment */
  readonly sampler?: (step: number) => ModelEngine;
  /** The model as it was, for algorithms that compare with it. @default the model that is trained */
  readonly reference?: ModelEngine;
  /** Another model that the algorithm learns from. @default the reference */
  readonly teacher?: ModelEngine;
  /** Changes the rollouts before they are learnt from, for a control that must not learn. */
  readonly onGroups?: (groups: readonly CollectedGroup[], step: number) => readonly CollectedGroup[];
  /** Changes what is trained on, for a control that must not learn. */
  readonly onPlan?: (plan: StepPlan) => StepPlan;
  /** Called with the gradient norm of every optimizer step, before clipping. */
  readonly onStep?: (gradientNorm: number) => void;
}

/** Trains; the mean reward, or score, of each step's rollouts, before the step is taken. */
export async function learn<TTask>(lesson: Lesson<TTask>): Promise<readonly number[]> {
  const { engine, algorithm, steps, seed = 1 } = lesson;
  const curve: number[] = [];
  for (let step = 1; step <= steps; step += 1) {
    const { groups, reward } = await collect(lesson, step);
    curve.push(reward);
    const given = lesson.onGroups?.(groups, step) ?? groups;
    const prompts = (algorithm.teacherPrompts?.(given) ?? []).map(renderRequest);
    const context = { step, totalSteps: steps, policyVersion: engine.weightVersion, seed: seed * 1000 + step, prompts };
    const request = algorithm.scoring?.(given, context) ?? null;
    const { reference = engine } = lesson;
    const { teacher = algorithm.teacher === 'current' ? engine : reference } = lesson;
    const scoresOf = async ({ data, teacherData }: ScoringRequest): Promise<SequenceScores> => {
      const { logprobs, values } = await engine.forward(data);
      const scored = { current: logprobs, reference: (await reference.forward(data)).logprobs };
      const guided = teacherData === undefined ? {} : { teacher: (await teacher.forward(teacherData)).logprobs };
      return { ...scored, ...guided, ...(values === null ? {} : { critic: values }) };
    };
    const scores = request === null ? {} : { scores: await scoresOf(request) };
    const plan = algorithm.planStep(given, { ...context, ...scores });
    await apply(engine, lesson.onPlan?.(plan) ?? plan, lesson.onStep ?? ((): void => undefined));
  }
  return curve;
}

function renderRequest({ messages, fields }: PromptRequest): readonly number[] {
  // As the service of the runtime parses them.
  return renderPrompt(messages as unknown as ChatMessage[], (fields['tools'] ?? []) as unknown as ChatTool[]);
}

async function apply(engine: ModelEngine, plan: StepPlan, onStep: (gradientNorm: number) => void): Promise<void> {
  for (const { batches, loss, optimizer } of plan.updates) {
    for (const { data } of batches) await engine.forwardBackward(data, loss);
    const { gradientNorm } = await engine.optimStep(optimizer);
    onStep(gradientNorm);
  }
  await engine.publishWeights();
}

async function collect<TTask>(
  { engine, algorithm, agent, tasksOfStep, seed = 1, sampler = () => engine }: Lesson<TTask>,
  step: number,
): Promise<{ readonly groups: readonly CollectedGroup[]; readonly reward: number }> {
  let total = 0;
  const groups = tasksOfStep(step).map(async (task, place): Promise<CollectedGroup> => {
    const rollouts = Array.from({ length: algorithm.groupSize }, async (_, sample) => {
      const name = `${seed}-${step}-${place}-${sample}`;
      const episode = new Episode(sampler(step), `ro-${name}`, seedOf(seed, step, place * 64 + sample));
      const reward = await agent(task, episode);
      episode.reward(reward);
      total += episode.score ?? reward;
      return episode.collected();
    });
    return { groupId: `gr-${step}-${place}`, rollouts: await Promise.all(rollouts) };
  });
  const collected = await Promise.all(groups);
  return { groups: collected, reward: total / collected.flatMap(({ rollouts }) => rollouts).length };
}

function seedOf(seed: number, step: number, rollout: number): number {
  return (Math.imul(seed, 0x9e3779b1) ^ Math.imul(step, 0x85ebca6b) ^ Math.imul(rollout + 1, 0xc2b2ae35)) >>> 0;
}

/** Another model with the weights of this moment. */
export function copyOf(engine: ModelEngine): ModelEngine {
  const weights = { config: engine.config, parameters: engine.parameters(), clientState: new Uint8Array() };
  // The weights alone count: its draws are seeded, call by call.
  const checkpoint: Parameters<typeof ModelEngine.fromWeights>[0] = {
    ...weights,
    weightVersion: 0,
    random: [1, 1, 1, 1],
  };
  return ModelEngine.fromWeights(checkpoint, 5);
}

/** The mean of values; of a curve's last ones, where a number is given. */
export function meanOf(values: readonly number[], last: number = values.length): number {
  const counted = values.slice(-last);
  return counted.reduce((sum, value) => sum + value, 0) / counted.length;
}
