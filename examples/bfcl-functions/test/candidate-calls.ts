import { apiName, type FunctionCall } from '../checker/check-calls.ts';
import type { BfclTask } from '../task.ts';

/** JSON texts of arguments by name. */
type Texts = Readonly<Record<string, string>>;

/** Values of other types and spellings. */
const others = [
  '"text"',
  '""',
  '5',
  '5.0',
  '-1',
  '1.5',
  'true',
  'null',
  '[]',
  '["a"]',
  '[1, 2]',
  '[1.0]',
  '{}',
  '{"a": 1}',
];

/** Calls for a task: right ones in several spellings, and wrong ones that differ in one place. */
export function candidateCalls({ expected }: BfclTask): readonly (readonly FunctionCall[])[] {
  const [name = '', accepted = {}] =
    Object.entries(
      JSON.parse(expected ?? '{}') as Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>>,
    )[0] ?? [];
  const choices = Object.entries(accepted);
  const first: Texts = Object.fromEntries(
    choices.filter(([, values]) => values[0] !== '').map(([key, values]) => [key, written(values[0])]),
  );
  const variants: Texts[] = [first, { ...first, surplus: '1' }, {}];
  for (const [key, values] of choices) {
    const { [key]: _, ...without } = first;
    variants.push(without);
    for (const value of values) variants.push({ ...first, [key]: written(value) });
    for (const value of values) variants.push({ ...first, [key]: written(respelled(value)) });
    for (const value of others) variants.push({ ...first, [key]: value });
  }
  const calls = variants.map((texts) => [{ name: apiName(name), arguments: objectText(texts) }]);
  const [right = []] = calls;
  return [...calls, [...right, ...right], [{ name: 'another', arguments: objectText(first) }]];
}

/** An accepted value as a call has it: the parameters of a dictionary have lists of accepted values. */
function written(value: unknown): string {
  return JSON.stringify(called(value));
}

function called(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(called);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, choices]) => [key, called(Array.isArray(choices) ? choices[0] : choices)]),
  );
}

/** A text in other case and punctuation, also within lists. */
function respelled(value: unknown): unknown {
  if (typeof value === 'string') return ` ${value.toUpperCase().replaceAll(' ', ', ')}.`;
  return Array.isArray(value) ? value.map(respelled) : value;
}

function objectText(texts: Texts): string {
  return `{${Object.entries(texts)
    .map(([key, text]) => `${JSON.stringify(key)}: ${text}`)
    .join(', ')}}`;
}
