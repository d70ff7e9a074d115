import type { ChatMessage, ChatTool } from '@agentlightning/runtime/internal/serving';
import type { Random } from '../src/random.ts';
import { chance, pick } from './made-up-words.ts';

/** A made-up conversation and its tools. */
export interface Transcript {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ChatTool[];
}

// The quick start's own words (stock, clerk, count) are left out: there the model must generalise.
const roles = [
  'a helpful assistant',
  'a librarian',
  'a shop assistant',
  'a weather service',
  'an accountant',
  'a guide',
  'a price checker',
  'a warehouse robot',
  'a travel agent',
  'a ticket office',
  'a bank teller',
  'a nurse',
  'a cook',
];
const verbs = ['get', 'find', 'look', 'check', 'fetch', 'read', 'query', 'ask', 'show', 'list', 'sum', 'load'];
const nouns = [
  'price',
  'weight',
  'seat',
  'room',
  'book',
  'code',
  'item',
  'part',
  'size',
  'score',
  'level',
  'order',
  'train',
  'bus',
  'box',
  'shelf',
  'user',
  'city',
  'page',
  'row',
  'card',
  'lamp',
  'key',
  'tank',
  'fee',
];
const openings = [
  'How many',
  'How much',
  'What is the',
  'Tell me the',
  'Give me the',
  'Please check',
  'Do you know',
  'I need the',
  'Could you find',
  'Look up',
  'Say the',
  'Which',
  'Show me the',
  'Any idea about',
  'Count',
];
const fillers = [
  'of',
  'for',
  'in',
  'on',
  'at',
  'the',
  'a',
  'are',
  'is',
  'we',
  'have',
  'left',
  'now',
  'today',
  'there',
  'this',
  'that',
  'with',
  'please',
  'here',
  'do',
  'you',
  'see',
  'still',
  'our',
  'all',
  'my',
  'and',
  'it',
  'has',
];
const evasions = ['unknown', 'no', 'yes', 'none', 'ok', 'sorry', 'I can not say', 'not sure', 'done', 'maybe'];

/** Draws one conversation: a question about a key, perhaps a tool call, an answer. */
export function drawTranscript(random: Random): Transcript {
  const tools = drawTools(random);
  const messages: ChatMessage[] = [];
  if (chance(random, 0.6)) messages.push({ role: 'system', content: drawSystem(random) });
  const turns = chance(random, 0.15) ? 2 : 1;
  for (let turn = 0; turn < turns; turn++) messages.push(...drawTurn(random, tools));
  return { messages, tools };
}

function drawSystem(random: Random): string {
  const role = pick(random, roles);
  return pick(random, [`You are ${role}.`, `Act as ${role}.`, `${role}`, `You are ${role}. Be brief.`]);
}

function drawTools(random: Random): ChatTool[] {
  const count = chance(random, 0.9) ? 1 : 2;
  return Array.from({ length: count }, () => {
    const name = chance(random, 0.4)
      ? `${pick(random, verbs)}_${pick(random, nouns)}`
      : pick(random, chance(random, 0.5) ? verbs : nouns);
    return {
      type: 'function',
      function: { name, parameters: { properties: { [pick(random, nouns)]: { type: 'string' } } } },
    };
  });
}

/** A question with its answer, by one of the ways the assistant knows. */
function drawTurn(random: Random, tools: readonly ChatTool[]): ChatMessage[] {
  const key = drawKey(random);
  const messages: ChatMessage[] = [{ role: 'user', content: drawQuestion(random, key) }];
  if (chance(random, 0.5)) return [...messages, { role: 'assistant', content: drawReply(random) }];
  const tool = pick(random, tools);
  const argument = chance(random, 0.9) ? key : drawKey(random);
  const parameter = Object.keys(tool.function.parameters?.properties ?? {})[0] ?? '';
  const call = { name: tool.function.name, arguments: JSON.stringify({ [parameter]: argument }) };
  const result = chance(random, 0.85) ? drawNumber(random) : pick(random, evasions);
  const answer = chance(random, 0.6) ? result : drawReply(random);
  return [
    ...messages,
    { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: call }] },
    { role: 'tool', content: result },
    { role: 'assistant', content: answer },
  ];
}

function drawReply(random: Random): string {
  return chance(random, 0.5) ? drawNumber(random) : pick(random, evasions);
}

/** Letters and digits as part numbers have them: B4, K17, 9Q. */
function drawKey(random: Random): string {
  const letter = String.fromCharCode(65 + random.nextInteger(26));
  const form = random.nextInteger(10);
  if (form < 6) return letter + random.nextInteger(10);
  if (form < 9) return letter + drawNumber(random);
  return random.nextInteger(10) + letter;
}

function drawNumber(random: Random): string {
  return String(10 + random.nextInteger(90));
}

/** An opening, a few words, and the key somewhere among them. */
function drawQuestion(random: Random, key: string): string {
  const words = Array.from({ length: random.nextInteger(4) }, () =>
    pick(random, chance(random, 0.7) ? fillers : nouns),
  );
  words.splice(random.nextInteger(words.length + 1), 0, key);
  if (chance(random, 0.85)) words.unshift(pick(random, openings));
  return words.join(' ') + pick(random, ['?', '?', '.', '']);
}
