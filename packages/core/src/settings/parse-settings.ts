import type { z } from 'zod';
import { AgentLightningError } from '../errors/agent-lightning-error.ts';
import { issueWords } from './issue-words.ts';
import { fieldOf, knownKeys } from './known-keys.ts';
import { didYouMean } from './nearest-name.ts';
import { isSecret } from './secret-name.ts';
import { valueText } from './value-text.ts';

/** What {@link parseSettings} says when something is wrong. */
export interface SettingsDescription {
  /** What the settings are of, as the start of the message: `algorithm grpo`. @default nothing */
  readonly what?: string;
  /** Where the settings are in what the user wrote, before every path: `['runtime']`. @default nowhere */
  readonly within?: readonly string[];
  /** Says more of an unknown key at the top; null when there is nothing to say. @default nothing */
  readonly hintOf?: (key: string) => string | null;
}

/**
 * Checks settings that a person wrote, such as a configuration file, and gives them back with their defaults.
 *
 * @throws AgentLightningError with code `CONFIG` that says of every wrong option, by its path, what it must be and what it
 *   is, and of every unknown one, which was most likely meant
 *
 * @example
 * ```ts
 * const schema = z.strictObject({ steps: z.int().min(1), sampling: z.strictObject({ topP: z.number().exactOptional() }) });
 * parseSettings(schema, { steps: 0, sampling: { topp: 1 } });
 * // [CONFIG] steps: must be at least 1, not 0; there is no option "sampling.topp"; did you mean "topP"?
 * ```
 */
export function parseSettings<TSettings>(
  schema: z.ZodType<TSettings>,
  value: unknown,
  { what, within = [], hintOf }: SettingsDescription = {},
): TSettings {
  const result = schema.safeParse(value, { error: issueWords, reportInput: true });
  if (result.success) return result.data;
  const issues = result.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => unknownKey(key, { issue, schema, value, within, hintOf }))
      : [wrongValue(issue, { value, within })],
  );
  // Without zod's error beneath: it has the values, keys among them.
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `${what === undefined ? '' : `${what}: `}${issues.join('; ')}`,
    details: { issues },
  });
}

function unknownKey(
  key: string,
  context: {
    readonly issue: z.core.$ZodIssue;
    readonly schema: z.core.$ZodType;
    readonly value: unknown;
    readonly within: readonly string[];
    readonly hintOf: SettingsDescription['hintOf'];
  },
): string {
  const { issue, schema, value, within, hintOf } = context;
  const full = pathText([...within, ...issue.path, key]);
  const hint = issue.path.length === 0 ? (hintOf?.(key) ?? null) : null;
  if (hint !== null) return `there is no option "${full}": ${hint}`;
  const known = knownKeys(schema, issue.path, value);
  const meant = didYouMean(key, known);
  const rest = known.length === 0 ? '' : `; there are ${known.join(', ')}`;
  return `there is no option "${full}"${meant === '' ? rest : meant}`;
}

function wrongValue(
  issue: z.core.$ZodIssue,
  { value, within }: { readonly value: unknown; readonly within: readonly string[] },
): string {
  const path = [...within, ...issue.path];
  const { message, input } = issue;
  const where = path.length === 0 ? '' : `${pathText(path)}: `;
  const isDemand = message.startsWith('must ');
  if (input === undefined && isDemand) return `${where}is missing; it ${message}`;
  const given = path.some(isSecret) ? null : valueText(issue.path.reduce(fieldOf, value));
  const shown = given === null ? '' : isDemand ? `, not ${given}` : ` (it is ${given})`;
  return `${where}${message}${shown}${didYouMeanValue(issue)}`;
}

/** Where one of some words is wanted and another was given. */
function didYouMeanValue(issue: z.core.$ZodIssue): string {
  const { given, known } = choiceOf(issue);
  const words = known.filter((word) => typeof word === 'string');
  return typeof given === 'string' ? didYouMean(given, words) : '';
}

function choiceOf(issue: z.core.$ZodIssue): { readonly given: unknown; readonly known: readonly unknown[] } {
  if (issue.code === 'invalid_value') return { given: issue.input, known: issue.values };
  if (issue.code !== 'invalid_union') return { given: undefined, known: [] };
  const choices = [issue, ...issue.errors.flat()].flatMap((one) => {
    if (one.code === 'invalid_value') return one.path.at(-1) === 'type' ? one.values : [];
    return one.code === 'invalid_union' && 'options' in one && Array.isArray(one.options) ? one.options : [];
  });
  return { given: fieldOf(issue.input, 'type'), known: choices };
}

function pathText(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}
