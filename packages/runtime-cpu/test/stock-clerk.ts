import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import type { ChatMessage, ChatTool } from '@agentlightning/runtime/internal/serving';
import type { ModelEngine } from '../src/model-engine.ts';
import { Random } from '../src/random.ts';
import { renderPrompt } from '../src/text/chat-template.ts';
import { parseResponse } from '../src/text/response-parser.ts';
import { datum, sampleRequest } from './small-model.ts';

/** A question that only the tool can resolve. */
export interface StockTask {
  readonly part: string;
  readonly count: string;
}

/** One run of the agent. */
export interface StockRollout {
  readonly task: StockTask;
  /** The last message; null when it never stopped calling. */
  readonly answer: string | null;
  readonly calls: number;
  /** All turns as one sequence. */
  readonly datum: TrainingDatum;
}

const tools: readonly ChatTool[] = [
  { type: 'function', function: { name: 'count_stock', parameters: { properties: { part: { type: 'string' } } } } },
];

/** Draws a part such as B4 and how many there are. */
export function drawTask(random: Random): StockTask {
  const part = String.fromCharCode(65 + random.nextInteger(26)) + random.nextInteger(10);
  return { part, count: String(10 + random.nextInteger(90)) };
}

/** Runs the agent once: at most two tool calls, then its answer. A wrong part gets a wrong count. */
export async function runAgent(engine: ModelEngine, task: StockTask, random: Random): Promise<StockRollout> {
  const messages: ChatMessage[] = [
    { role: 'system', content: 'You are a stock clerk.' },
    { role: 'user', content: `How many ${task.part} are in stock?` },
  ];
  const trained: { start: number; end: number }[] = [];
  const logprobs: number[] = [];
  let tokens: number[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const prompt = renderPrompt(messages, tools);
    const request = sampleRequest({ promptTokens: prompt, maxTokens: 16, seed: random.nextUint32() });
    const { choices, finishReason } = await engine.sample(request).result;
    tokens = [...prompt, ...choices.map(({ token }) => token)];
    trained.push({ start: prompt.length, end: tokens.length });
    logprobs.push(...choices.map(({ logprob }) => logprob));
    const said = parseResponse(tokens.slice(prompt.length), { tools, finishReason, callIdPrefix: 'call' });
    const sequence = datum(tokens, { count: logprobs.length, trained, samplingLogprobs: Float32Array.from(logprobs) });
    if (said.toolCalls.length === 0) return { task, answer: said.content, calls: turn, datum: sequence };
    messages.push({ role: 'assistant', content: said.content, tool_calls: said.toolCalls });
    for (const call of said.toolCalls) {
      const isRight = call.function.arguments === JSON.stringify({ part: task.part });
      messages.push({ role: 'tool', content: isRight ? task.count : drawTask(random).count });
    }
    if (turn === 2) return { task, answer: null, calls: 3, datum: sequence };
  }
  return { task, answer: null, calls: 3, datum: datum(tokens, { count: 0 }) };
}

/** The reward of a run. */
export type StockReward = (rollout: StockRollout) => number;

/** Training options. */
export interface TrainOptions {
  readonly reward: StockReward;
  readonly steps: number;
  readonly seed: number;
  /** Transforms the advantages; for negative controls. */
  readonly distort?: (advantages: readonly number[]) => readonly number[];
}

const tasksPerStep = 16;
const groupSize = 8;

/** Group-relative policy optimisation with the hyper-parameters recommended for the quick start. */
export async function train(engine: ModelEngine, options: TrainOptions): Promise<void> {
  const random = Random.fromSeed(options.seed);
  for (let step = 0; step < options.steps; step++) {
    const data: TrainingDatum[] = [];
    const tasks = Array.from({ length: tasksPerStep }, () => drawTask(random));
    const groups = await Promise.all(
      tasks.map((task) => Promise.all(Array.from({ length: groupSize }, () => runAgent(engine, task, random)))),
    );
    for (const group of groups) data.push(...credited(group, options));
    const tokens = data.reduce((sum, { weights }) => sum + weights.length, 0);
    for (const { weights } of data) weights.fill(1 / tokens);
    if (tokens === 0) continue;
    await engine.forwardBackward(data, { name: 'importance_sampling', parameters: { entropy_coefficient: 0.01 } });
    await engine.optimStep({ learningRate: 2e-3, beta2: 0.99 });
    await engine.publishWeights();
  }
}

/** Mean reward over held-out tasks. */
export async function evaluate(engine: ModelEngine, reward: StockReward): Promise<number> {
  const random = Random.fromSeed(987_654);
  const tasks = Array.from({ length: 200 }, () => drawTask(random));
  const rollouts = await Promise.all(tasks.map((task) => runAgent(engine, task, random)));
  return rollouts.reduce((sum, rollout) => sum + reward(rollout), 0) / rollouts.length;
}

/** The sequences of a group with their advantages; empty when all rewards are equal. */
function credited(group: readonly StockRollout[], { reward, distort }: TrainOptions): TrainingDatum[] {
  const rewards = group.map(reward);
  const mean = rewards.reduce((sum, value) => sum + value, 0) / rewards.length;
  const variance = rewards.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (rewards.length - 1);
  if (variance === 0) return [];
  const plain = rewards.map((value) => (value - mean) / (Math.sqrt(variance) + 1e-6));
  const advantages = distort === undefined ? plain : distort(plain);
  return group.map(({ datum: sequence }, index) => {
    sequence.advantages.fill(advantages[index] ?? 0);
    return sequence;
  });
}
