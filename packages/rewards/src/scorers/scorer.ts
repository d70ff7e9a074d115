import { AgentLightningError } from '@agentlightning/core';
import type { ReasonedScore, RewardVerdict } from '@agentlightning/core/algorithm';
import { importOptional } from '../base/optional-package.ts';
import {
  type OutputOptions,
  partSettings,
  type ScoredOutput,
  type ScoredPart,
  selectOutput,
  shown,
  textOf,
} from '../base/part.ts';

/** What a scoring function receives: the rollout, under the names that evaluation libraries use. */
export interface ScorerArguments<TTask = unknown, TOutput = unknown> extends ScoredOutput<TTask, TOutput> {
  /** The task's input: autoevals, evalite, Mastra, vitest-evals. */
  readonly input: unknown;
  /** The task's expected output: autoevals, evalite. */
  readonly expected: unknown;
  /** The same as `input`: LangSmith, openevals. */
  readonly inputs: unknown;
  /** The same as `output`: LangSmith, openevals. */
  readonly outputs: unknown;
  /** The same as `expected`: LangSmith, openevals. */
  readonly referenceOutputs: unknown;
  /** The same as `expected`: older LangSmith evaluators. */
  readonly reference_outputs: unknown;
  /** The same as `expected`: Mastra. */
  readonly groundTruth: unknown;
}

/** A function that scores: of autoevals, evalite, LangSmith, openevals, or your own. */
export type ScoringFunction = (args: never) => unknown;

/** An object that scores. */
export type ScoringObject =
  /** Mastra's `createScorer`. */
  | { readonly run: (run: never) => Promise<unknown> }
  /** An inline scorer of evalite. */
  | { readonly name: string; readonly scorer: ScoringFunction }
  /** A judge of vitest-evals. */
  | { readonly name: string; readonly assess: ScoringFunction }
  /** An assertion of promptfoo, which needs the package `promptfoo`. */
  | { readonly type: string; readonly value?: unknown; readonly threshold?: number };

/** A scorer of another library. */
export type ForeignScorer = ScoringFunction | ScoringObject;

/** Options of {@link scorer}. */
export interface ScorerOptions<TTask = unknown, TOutput = unknown> extends OutputOptions<TOutput> {
  /** Selects the input. @default `task.input`, else `task.question`, else the task */
  readonly input?: (task: TTask) => unknown;
  /** Selects the expected output. @default `task.expected`, else `task.answer` */
  readonly expected?: (task: TTask) => unknown;
}

/**
 * A part of the reward that asks a scorer of another library, which is recognised by its shape: autoevals, evalite, Mastra,
 * promptfoo, vitest-evals, LangSmith and openevals, or a function of {@link ScorerArguments}.
 *
 * @example
 * ```ts
 * rewards({ similar: scorer(Levenshtein), helpful: scorer(mastraScorer, { weight: 0.3 }) });
 * ```
 *
 * @throws AgentLightningError CONFIG for a value without a known shape; from `score`, INVALID_REWARD for a result without a score
 */
export function scorer<TTask = unknown, TOutput = unknown>(
  foreign: ForeignScorer,
  options: ScorerOptions<TTask, TOutput> = {},
): ScoredPart<TTask, TOutput> {
  const call = callOf(foreign);
  return {
    ...partSettings(options),
    score: async (input) => verdictOf(await call(scorerArguments(input, options))),
  };
}

function scorerArguments<TTask, TOutput>(
  scored: ScoredOutput<TTask, TOutput>,
  options: ScorerOptions<TTask, TOutput>,
): ScorerArguments {
  const fields = (typeof scored.task === 'object' && scored.task !== null ? scored.task : {}) as {
    readonly [name: string]: unknown;
  };
  const input =
    options.input === undefined ? (fields['input'] ?? fields['question'] ?? scored.task) : options.input(scored.task);
  const expected =
    options.expected === undefined ? (fields['expected'] ?? fields['answer']) : options.expected(scored.task);
  const output = selectOutput(scored.output, options.output);
  return {
    ...(scored as ScoredOutput),
    input,
    output,
    expected,
    inputs: input,
    outputs: output,
    referenceOutputs: expected,
    reference_outputs: expected,
    groundTruth: expected,
  };
}

/** Calls a scorer with the merged arguments. */
type ScorerCall = (args: ScorerArguments) => unknown;

function callOf(foreign: unknown): ScorerCall {
  if (typeof foreign === 'function') return (args) => (foreign as ScorerCall)(args);
  if (typeof foreign === 'object' && foreign !== null) {
    const named = foreign as Readonly<Record<string, unknown>>;
    // Mastra's scorer is an instance with private fields: methods are called on it.
    if (typeof named['run'] === 'function') {
      const { run } = foreign as { run(scored: object): unknown };
      return ({ input, output, expected }) => run.call(foreign, { input, output, groundTruth: expected });
    }
    if (typeof named['scorer'] === 'function') return named['scorer'] as ScorerCall;
    if (typeof named['assess'] === 'function') {
      const { assess } = foreign as { assess(context: object): unknown };
      return (args) => assess.call(foreign, judgeContext(args));
    }
    if (typeof named['type'] === 'string') return (args) => runAssertion(foreign, args);
  }
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `Not a scorer: ${shown(foreign)}`,
    remedy:
      'Pass a function, a scorer of autoevals, evalite, Mastra, vitest-evals, LangSmith or openevals, or an assertion of promptfoo.',
  });
}

/** The context of a judge of vitest-evals: its run is a session of one turn. */
function judgeContext(args: ScorerArguments): object {
  const session = {
    messages: [
      { role: 'user', content: textOf(args.input) },
      { role: 'assistant', content: textOf(args.output) },
    ],
  };
  return {
    ...args,
    toolCalls: [],
    session,
    run: { session, output: args.output, usage: {}, errors: [] },
    harness: undefined,
  };
}

/** What is used of promptfoo. */
interface PromptfooModule {
  readonly assertions: { runAssertion(request: object): Promise<unknown> };
}

async function runAssertion(assertion: object, args: ScorerArguments): Promise<unknown> {
  const { assertions } = await importOptional<PromptfooModule>('promptfoo', 'An assertion of promptfoo');
  const vars = typeof args.task === 'object' && args.task !== null ? args.task : { input: args.input };
  return assertions.runAssertion({
    assertion,
    test: { vars: { ...vars, input: args.input, expected: args.expected } },
    providerResponse: { output: args.output },
  });
}

/** The verdict of a result of any library. */
function verdictOf(result: unknown): ReasonedScore {
  const [first, second] = Array.isArray(result) ? (result as readonly unknown[]) : [result];
  // openevals: [score, reasoning]; several results: the first counts.
  const found = scoreOf(first);
  const reason = Array.isArray(result) && typeof second === 'string' ? second : found?.reason;
  if (found === null) {
    throw new AgentLightningError({
      code: 'INVALID_REWARD',
      message: `The scorer returned ${shown(result)}, which has no score`,
      remedy: 'Return a number, a boolean, or an object with `score`, and null for no verdict.',
    });
  }
  return { score: found.score, ...(reason === undefined ? {} : { reason }) };
}

function scoreOf(result: unknown): ReasonedScore | null {
  if (typeof result === 'number' || typeof result === 'boolean' || result === null) return { score: result };
  if (typeof result !== 'object') return null;
  const { score, pass, metadata, notScorable, ...rest } = result as Readonly<Record<string, unknown>>;
  const reason = reasonOf({ ...rest, ...(typeof metadata === 'object' ? metadata : {}) }, notScorable);
  if (notScorable !== undefined) return { score: null, ...reason };
  const value = score === undefined ? pass : score;
  if (typeof value !== 'number' && typeof value !== 'boolean' && value !== null) return null;
  return { score: value, ...reason };
}

/** Mastra, promptfoo: reason; LangSmith: comment; autoevals, vitest-evals: rationale; openevals: reasoning. */
const reasonNames = ['reason', 'comment', 'rationale', 'reasoning', 'explanation'];

function reasonOf(result: Readonly<Record<string, unknown>>, notScorable: unknown): Pick<ReasonedScore, 'reason'> {
  const fields = typeof notScorable === 'object' ? { ...result, ...notScorable } : result;
  const reason = reasonNames
    .map((name) => (fields as Readonly<Record<string, unknown>>)[name])
    .find((text) => typeof text === 'string' && text !== '');
  return typeof reason === 'string' ? { reason } : {};
}

/** The result of a function that scores. */
export type ScoringResult = RewardVerdict | Promise<RewardVerdict>;
