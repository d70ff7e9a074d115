import { AgentLightningError } from '@agentlightning/core';
import { type OutputOptions, type PartSettings, partSettings, type ScoredOutput, selectOutput } from '../base/part.ts';
import type { Judge, JudgeSettings } from './judge.ts';
import type { JudgePrompt } from './judge-models.ts';
import { judgePrompts, type VersionedPrompt } from './judge-prompts.ts';

/** Options of every judging part. */
export interface JudgingOptions<TTask = unknown, TOutput = unknown> extends OutputOptions<TOutput> {
  /** The judge, or its settings. */
  readonly judge: Judge | JudgeSettings;
  /** What is judged, beside the prompt of the part, such as the purpose of the agent. @default none */
  readonly instructions?: string;
  /** Selects what the judge reads of the task. @default the task */
  readonly input?: (task: TTask) => unknown;
}

/** The longest text of an output that a judge reads, in characters. */
const maxCharacters = 20_000;

/** Shortens the middle of a long text. */
export function shortened(text: string): string {
  if (text.length <= maxCharacters) return text;
  const half = maxCharacters / 2;
  return `${text.slice(0, half)} [${text.length - maxCharacters} characters omitted] ${text.slice(-half)}`;
}

/** What the judge reads of an output. */
export function judgedOutput<TOutput>(output: TOutput, options: OutputOptions<TOutput>): unknown {
  const value = selectOutput(output, options.output) ?? null;
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  return typeof value === 'string' || text.length > maxCharacters ? shortened(text) : value;
}

/** The settings of a judging part: its weight and range, its prompt and what its judge has used. */
export function judgingSettings<TTask, TOutput>(
  kind: keyof typeof judgePrompts,
  options: JudgingOptions<TTask, TOutput>,
  judge: Judge,
): PartSettings {
  return { ...partSettings(options), prompt: systemPrompt(kind, options), meter: judge };
}

function systemPrompt(
  kind: keyof typeof judgePrompts,
  { instructions }: { readonly instructions?: string | undefined },
): string {
  const { system }: VersionedPrompt = judgePrompts[kind];
  return instructions === undefined ? system : `${system}\n\n${instructions}`;
}

/** The prompt of a judge about a task. */
export function promptOf<TTask, TOutput>(
  kind: keyof typeof judgePrompts,
  { task }: Pick<ScoredOutput<TTask, TOutput>, 'task'>,
  {
    instructions,
    input,
    material,
  }: Pick<JudgingOptions<TTask, TOutput>, 'instructions' | 'input'> & {
    /** What is judged, beside the task. */
    readonly material: object;
  },
): JudgePrompt {
  return {
    system: systemPrompt(kind, { instructions }),
    prompt: JSON.stringify({ task: input === undefined ? task : input(task), ...material }),
  };
}

/** The error of a verdict that does not follow its prompt. */
export function invalidVerdict(message: string): AgentLightningError {
  return new AgentLightningError({ code: 'INVALID_REWARD', message });
}

/** A field of a verdict. @throws AgentLightningError INVALID_REWARD without it */
export function field(json: unknown, name: string): unknown {
  if (typeof json !== 'object' || json === null || !(name in json)) throw invalidVerdict(`it has no \`${name}\``);
  return (json as Readonly<Record<string, unknown>>)[name];
}

/**
 * The scores of a verdict by name, each exactly once.
 *
 * @throws AgentLightningError INVALID_REWARD
 */
export function namedScores(
  list: unknown,
  names: readonly string[],
  fields: { readonly name: string; readonly reason: string },
): ReadonlyMap<string, { readonly score: number; readonly reason: string }> {
  if (!Array.isArray(list)) throw invalidVerdict('the scores are not a list');
  const scores = new Map<string, { readonly score: number; readonly reason: string }>();
  for (const entry of list as readonly unknown[]) {
    const [name, score] = [String(field(entry, fields.name)), field(entry, 'score')];
    if (!names.includes(name)) throw invalidVerdict(`"${name}" is not one of ${names.join(', ')}`);
    if (scores.has(name)) throw invalidVerdict(`"${name}" occurs twice`);
    if (typeof score !== 'number' || !(score >= 0 && score <= 1)) {
      throw invalidVerdict(`the score of "${name}" is not between 0 and 1`);
    }
    scores.set(name, { score, reason: String((entry as Readonly<Record<string, unknown>>)[fields.reason] ?? '') });
  }
  const absent = names.find((name) => !scores.has(name));
  if (absent !== undefined) throw invalidVerdict(`"${absent}" has no score`);
  return scores;
}
