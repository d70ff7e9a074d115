import type { ChatMessage, ChatTool } from '@agentlightning/runtime/internal/serving';
import type { Random } from '../src/random.ts';
import { drawTranscript as drawShortTranscript, type Transcript } from './corpus.ts';
import { chance, drawIdentifier, drawName, drawNumber, drawWords, pick } from './made-up-words.ts';

/** The kinds of conversation, each with its share. */
const kinds: readonly { readonly share: number; readonly draw: (random: Random) => Transcript }[] = [
  { share: 0.3, draw: drawLookup },
  { share: 0.3, draw: drawQuery },
  { share: 0.1, draw: drawRepetition },
  { share: 0.1, draw: drawFiling },
  { share: 0.1, draw: drawExpression },
  { share: 0.1, draw: drawShortTranscript },
];

/** Draws one conversation in which the assistant copies names and values out of its prompt. */
export function drawReadingTranscript(random: Random): Transcript {
  let rest = random.nextUniform();
  for (const { share, draw } of kinds) {
    if (rest < share) return draw(random);
    rest -= share;
  }
  return drawShortTranscript(random);
}

/** A question about a name, a search for it, results with several fields, and one of the fields as the answer. */
function drawLookup(random: Random): Transcript {
  const tool = drawTool(random, 1);
  const name = drawName(random);
  const searched = chance(random, 0.85) ? name : pick(random, name.split(' '));
  const entries = Array.from({ length: 1 + random.nextInteger(3) }, () => drawEntry(random));
  const found = random.nextInteger(entries.length);
  entries[found] = { ...drawEntry(random), name };
  const style = pick(random, resultStyles);
  const right = chance(random, 0.85) ? found : random.nextInteger(entries.length);
  const field = pick(random, entries[right]?.fields ?? []);
  const citation = style.isNumbered && chance(random, 0.7) ? ` [${right + 1}]` : '';
  return {
    tools: [tool],
    messages: [
      ...drawSystem(random),
      {
        role: 'user',
        content: `${drawWords(random, 1 + random.nextInteger(3))} ${name}${pick(random, ['?', '', '.'])}`,
      },
      callOf(tool, [searched]),
      { role: 'tool', content: entries.map((entry, index) => style.render(entry, index)).join(style.separator) },
      { role: 'assistant', content: `${field}${citation}` },
    ],
  };
}

/** A thing with a name in the result of a search. */
interface Entry {
  readonly name: string;
  readonly fields: readonly string[];
}

function drawEntry(random: Random): Entry {
  const fields = Array.from({ length: 1 + random.nextInteger(3) }, () =>
    chance(random, 0.5) ? drawName(random) : drawNumber(random),
  );
  return { name: drawName(random), fields };
}

const resultStyles = [
  {
    isNumbered: true,
    separator: '\n',
    render: ({ name, fields }: Entry, index: number) => `[${index + 1}] ${name}: ${fields.join(', ')}`,
  },
  { isNumbered: false, separator: '; ', render: ({ name, fields }: Entry) => `${name} ${fields.join(' ')}` },
  { isNumbered: false, separator: '\n', render: ({ name, fields }: Entry) => `${name} = ${fields.join(' / ')}` },
];

/** Two tables with made-up names. */
interface Tables {
  readonly facts: string;
  readonly other: string;
  readonly key: string;
  readonly columns: readonly string[];
  readonly property: string;
}

/** A question to tables, and a query with names of the tables and the value of the question; sometimes a second one after an error. */
function drawQuery(random: Random): Transcript {
  const key = drawIdentifier(random);
  const tables: Tables = {
    facts: drawIdentifier(random),
    other: chance(random, 0.5) ? key : drawIdentifier(random),
    key,
    columns: Array.from({ length: 2 + random.nextInteger(3) }, () => drawIdentifier(random)),
    property: drawIdentifier(random),
  };
  const schema = `${tables.facts}(${[key, ...tables.columns].join(',')}) ${tables.other}(${key},${tables.property})`;
  const value = chance(random, 0.7) ? drawName(random) : drawIdentifier(random);
  const question = `${drawWords(random, 2 + random.nextInteger(2))} of ${chance(random, 0.4) ? `${drawIdentifier(random)} in ` : ''}${value}?`;
  const column = pick(random, tables.columns);
  const query = pick(random, queryForms);
  const draw = (by: string): string => query(tables, { fn: pick(random, queryFunctions), column: by, value });
  const messages: ChatMessage[] = [
    { role: 'system', content: `Write ${pick(random, ['SQL', 'a query', 'code'])}. ${schema}` },
    { role: 'user', content: question },
  ];
  if (chance(random, 0.75)) return { tools: [], messages: [...messages, { role: 'assistant', content: draw(column) }] };
  const wrong = drawIdentifier(random);
  return {
    tools: [],
    messages: [
      ...messages,
      { role: 'assistant', content: draw(wrong) },
      { role: 'user', content: `no such column: ${wrong}` },
      { role: 'assistant', content: draw(column) },
    ],
  };
}

const queryFunctions = ['avg', 'max', 'min', 'sum', 'count', 'median', 'first', 'last'];

/** What a query asks for. */
interface Asked {
  readonly fn: string;
  readonly column: string;
  readonly value: string;
}

const queryForms: readonly ((tables: Tables, asked: Asked) => string)[] = [
  ({ facts, key }, { fn, column, value }) => `select ${fn}(${column}) from ${facts} where ${key}='${value}'`,
  ({ facts, other, key, property }, { fn, column, value }) =>
    `select ${fn}(${column}) from ${facts} join ${other} using(${key}) where ${property}='${value}'`,
  ({ facts }, { fn, column }) =>
    `select ${fn}(${column}) from ${facts} where ${column}>(select avg(${column}) from ${facts})`,
  ({ facts, columns: [first = ''] }, { fn, column }) => `select ${fn}(${column}) from ${facts} order by ${first}`,
  ({ facts, key }, { column, value }) => `select ${column} from ${facts} where ${key}='${value}'`,
  ({ facts, key }, { fn, column, value }) => `${facts}[${key}='${value}'].${fn}(${column})`,
  ({ facts, key }, { column, value }) => `${facts}.${column} of ${key} ${value}`,
];

/** A text to repeat. */
function drawRepetition(random: Random): Transcript {
  const text = pick(random, [drawName, drawNumber, drawIdentifier])(random);
  const opening = pick(random, ['Say', 'Repeat', 'Write', 'Echo', 'Type']);
  return {
    tools: [],
    messages: [
      ...drawSystem(random),
      { role: 'user', content: `${opening}${pick(random, [' ', ': '])}${text}` },
      { role: 'assistant', content: text },
    ],
  };
}

/** A message with a key and a number, filed by a tool with two parameters, or with one of them. */
function drawFiling(random: Random): Transcript {
  const parameters = 1 + random.nextInteger(2);
  const tool = drawTool(random, parameters);
  const name = drawName(random);
  const number = drawNumber(random);
  const words = () => drawWords(random, random.nextInteger(3));
  const content = [words(), name, words(), number, words()].filter((part) => part !== '').join(' ');
  return {
    tools: [tool],
    messages: [...drawSystem(random), { role: 'user', content }, callOf(tool, [name, number].slice(0, parameters))],
  };
}

/** A sentence with two operands, and an expression of them, as text or as the argument of a tool. */
function drawExpression(random: Random): Transcript {
  const operand = () => (chance(random, 0.5) ? drawIdentifier(random) : drawNumber(random));
  const [first, second] = [operand(), operand()];
  const content = `${drawWords(random, 1)} ${first} ${drawWords(random, 1)} ${second}.`;
  const operands = chance(random, 0.5) ? [first, second] : [second, first];
  const expression = operands.join(pick(random, ['+', '-', '*', '/', '%']));
  const tool = drawTool(random, 1);
  const isCall = chance(random, 0.5);
  return {
    tools: isCall ? [tool] : [],
    messages: [
      ...drawSystem(random),
      { role: 'user', content },
      isCall ? callOf(tool, [expression]) : { role: 'assistant', content: expression },
    ],
  };
}

function drawSystem(random: Random): ChatMessage[] {
  if (chance(random, 0.3)) return [];
  return [{ role: 'system', content: `${drawWords(random, 1 + random.nextInteger(3))}.` }];
}

function drawTool(random: Random, parameters: number): ChatTool {
  const names = Array.from({ length: parameters }, () => drawIdentifier(random));
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
  return { type: 'function', function: { name: drawIdentifier(random), parameters: { properties } } };
}

function callOf(tool: ChatTool, values: readonly string[]): ChatMessage {
  const names = Object.keys(tool.function.parameters?.properties ?? {});
  const given = Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
  const call = { name: tool.function.name, arguments: JSON.stringify(given) };
  return { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: call }] };
}
