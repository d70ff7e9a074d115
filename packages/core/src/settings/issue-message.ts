import type { z } from 'zod';

/** Message of a zod issue: the required value. A message of the schema itself takes precedence. */
export function issueMessage(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return `must ${boundText(issue, Number(issue.minimum), issue.inclusive === false ? 'more than' : 'at least')}`;
    case 'too_big':
      return `must ${boundText(issue, Number(issue.maximum), issue.inclusive === false ? 'less than' : 'at most')}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return issue.format === 'url' ? 'must be a URL, such as http://localhost:8000/v1' : undefined;
    case 'invalid_value':
      return `must be ${choiceText(issue.values)}`;
    case 'invalid_union':
      return unionMessage(issue);
    default:
      return undefined;
  }
}

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
};

function boundText({ origin }: { readonly origin?: string }, bound: number, relation: string): string {
  if (origin === 'string')
    return bound === 1 && relation === 'at least' ? 'not be empty' : `have ${relation} ${bound} characters`;
  if (origin === 'array' || origin === 'set') return `have ${relation} ${bound} ${bound === 1 ? 'entry' : 'entries'}`;
  return `be ${relation} ${bound}`;
}

function choiceText(values: readonly unknown[]): string {
  const texts = values.map((value) => (typeof value === 'string' ? `"${value}"` : String(value)));
  return texts.length === 1 ? `${texts[0]}` : `one of ${texts.join(', ')}`;
}

/** The values of the discriminator, or the messages of all forms. */
function unionMessage({
  options,
  errors = [],
}: {
  readonly options?: unknown;
  readonly errors?: readonly (readonly z.core.$ZodIssue[])[];
}): string | undefined {
  if (Array.isArray(options)) return `must be ${choiceText(options)}`;
  const forms = errors.map((issues) => issues.find(({ path }) => path.length === 0)?.message);
  const words = forms.filter((form) => form?.startsWith('must ') === true);
  if (words.length === 0 || words.length < forms.length) return undefined;
  const [first = '', ...others] = new Set(words.filter((word) => word !== undefined));
  return [first, ...others.map((word) => word.replace(/^must (be )?/, ''))].join(' or ');
}
