import type { z } from 'zod';
import { AgentLightningError } from '../base/agent-lightning-error.ts';
import { formerSecretHint } from '../base/secret.ts';
import { addressText, withoutPasswords } from '../redaction/address-text.ts';
import { isSecret } from '../redaction/secret-parameters.ts';
import { issueMessage } from './issue-message.ts';
import { fieldOf, knownKeys } from './known-keys.ts';
import { didYouMean } from './nearest-name.ts';

/** Maximum length of a shown value, in characters. */
const maxLength = 120;

/**
 * A value as shown in a message. Secrets and passwords of addresses are redacted.
 *
 * @returns null without a displayable form
 */
function valueText(value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint' || typeof value === 'symbol' || Number.isNaN(value)) return String(value);
  if (typeof value === 'number') return String(value);
  const text = withoutPasswords(jsonText(value));
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}

function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value, (name, field: unknown) => {
      if (isSecret(name)) return '…';
      // A value that is entirely an address: its password can contain spaces and quotes.
      if (typeof field === 'string' && /^[a-z][\w+.-]*:\/\//i.test(field)) return addressText(field);
      return typeof field === 'bigint' ? String(field) : field;
    });
  } catch {
    // Circular, or with a throwing `toJSON`.
    return 'an object';
  }
}

/** Context of error messages of {@link parseSettings}. */
export interface SettingsDescription {
  /** What the settings configure, which starts the message: `algorithm grpo`. @default nothing */
  readonly what?: string;
  /** Path of the settings in the user's configuration, which prefixes every path: `['runtime']`. @default none */
  readonly within?: readonly string[];
  /** Hint for an unknown top-level key; null without one. @default none */
  readonly hintOf?: (key: string) => string | null;
}

/**
 * Validates user settings, such as a configuration file, and adds defaults.
 *
 * @throws AgentLightningError with code `CONFIG` that lists every invalid option with its path, requirement and value,
 * and every unknown option with a suggestion
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
  const result = schema.safeParse(value, { error: issueMessage, reportInput: true });
  if (result.success) return result.data;
  const issues = result.error.issues
    .flatMap(issuesOfForm)
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => unknownKey(key, { issue, schema, value, within, hintOf }))
        : [wrongValue(issue, { value, within })],
    );
  // Without zod's error as cause: it contains the values, possibly with keys.
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `${what === undefined ? '' : `${what}: `}${issues.join('; ')}`,
    details: { issues },
  });
}

/** The issues of the only form of a union with wrong options, when the other forms are of another type. */
function issuesOfForm(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const isWithin = ({ code, path }: z.core.$ZodIssue): boolean => code === 'unrecognized_keys' || path.length > 0;
  const [form, ...others] = issue.errors.filter((issues) => issues.every(isWithin));
  if (form === undefined || others.length > 0) return [issue];
  return form.flatMap((inner) => issuesOfForm({ ...inner, path: [...issue.path, ...inner.path] }));
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
  const hint = formerSecretHint(key) ?? (issue.path.length === 0 ? (hintOf?.(key) ?? null) : null);
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

/** Suggestion for an invalid choice. */
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
  const name = 'discriminator' in issue ? String(issue.discriminator) : 'type';
  return { given: fieldOf(issue.input, name), known: choices };
}

function pathText(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}
