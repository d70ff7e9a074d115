/**
 * Two simulated language models: one that selects rooms and considers only what its prompt mentions, and one that reads how it did
 * and improves the prompt.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import type { ScriptedReply, ScriptedRequest } from '@agentlightning/example-scripted-endpoint';
import { z } from 'zod';
import { findProblems, type Meeting, type Room, roomTask } from './rooms.ts';

/** The models by name: `editor`, and any other. */
export function respond(request: ScriptedRequest): ScriptedReply {
  return request.model === 'editor' ? { content: edit(request) } : select(request);
}

/** Something to consider: the words of a prompt by which the model notices it, and what the editor would write. */
interface Consideration {
  readonly noticed: RegExp;
  /** What the grader says when it was neglected. */
  readonly symptom: RegExp;
  readonly sentence: string;
}

const considerations = {
  free: {
    noticed: /\b(free|booked|bookings|available|availability)\b/i,
    symptom: /is booked at this time/,
    sentence: 'The room must be free for the whole meeting.',
  },
  seats: {
    noticed: /\b(seats?|capacity)\b/i,
    symptom: /has too few seats/,
    sentence: 'It must have enough seats.',
  },
  equipment: {
    noticed: /\b(equipment|equipped|projector|whiteboard)\b/i,
    symptom: /lacks a /,
    sentence: 'It must have all requested equipment.',
  },
  access: {
    noticed: /\b(accessible|accessibility|wheelchair)\b/i,
    symptom: /has no wheelchair access/,
    sentence: 'It must be accessible by wheelchair if requested.',
  },
  size: {
    noticed: /\b(smallest|fewest)\b/i,
    symptom: /is larger than necessary/,
    sentence: 'Of several suitable rooms, take the smallest.',
  },
  brevity: {
    noticed: /\b(nothing else|only the (name|id)|just the (name|id))\b/i,
    symptom: /has more than the name/,
    sentence: 'Reply with the name of the room and nothing else.',
  },
} satisfies Record<string, Consideration>;

type Topic = keyof typeof considerations;

/** Looks up the rooms, then names the first one that has no problem that the prompt mentions. */
function select({ messages, tools }: ScriptedRequest): ScriptedReply {
  const prompt = messages.find(({ role }) => role === 'user')?.content ?? '';
  const listed = messages.findLast(({ role }) => role === 'tool')?.content;
  if (listed === undefined) return { call: { name: tools[0] ?? 'list_rooms', arguments: {} } };
  const [instructions = '', line = ''] = prompt.split('Meeting: ');
  const topics = (Object.keys(considerations) as Topic[]).filter((topic) =>
    considerations[topic].noticed.test(instructions + line.split('\n').slice(1).join('\n')),
  );
  const rooms = z.array(roomTask.shape.rooms.element).parse(JSON.parse(listed));
  const chosen = chooseRoom(rooms, readMeeting(line), topics);
  return { content: topics.includes('brevity') ? chosen : `I suggest ${chosen}, because it looks nice.` };
}

function chooseRoom(rooms: readonly Room[], meeting: Meeting, topics: readonly Topic[]): string {
  const suitable = rooms.filter((room) => {
    const problems = findProblems(room, meeting);
    return !topics.some((topic) => problems.some((problem) => considerations[topic].symptom.test(problem)));
  });
  const ordered = topics.includes('size') ? suitable.toSorted((one, other) => one.seats - other.seats) : suitable;
  return ordered[0]?.id ?? 'none';
}

/** The meeting that {@link describeMeeting} described. */
function readMeeting(line: string): Meeting {
  const [, start = 0, end = 0, people = 0] = (/(\d+):00 to (\d+):00, (\d+) people/.exec(line) ?? []).map(Number);
  const needs = ['projector', 'whiteboard', 'screen'].filter((need) => line.includes(need));
  return { start, hours: end - start, people, needs, isAccessible: line.includes('wheelchair') };
}

/** Criticises a prompt, or adds a sentence to it: one that what it reads calls for, and that the prompt does not have. */
function edit({ messages }: ScriptedRequest): string {
  const text = messages.map(({ content }) => content).join('\n');
  const [head = '', ...rest] = text.split(/\n\nWhat (?:the agent did|is wrong)/);
  const [, prompt = ''] = /The prompt "\w+":\n\n([\s\S]*)$/.exec(head) ?? [];
  const report = rest.join('\n');
  const missing = Object.values(considerations).filter(
    ({ symptom, sentence }) => !prompt.includes(sentence) && (symptom.test(report) || report.includes(sentence)),
  );
  const sentence =
    missing[createHash('sha256').update(text).digest().readUInt32BE() % Math.max(1, missing.length)]?.sentence;
  if (report.includes('do not rewrite it yet')) return `It should say: ${sentence ?? 'nothing more.'}`;
  const [instructions = '', meeting = ''] = prompt.split('\n\nMeeting: ');
  return `<prompt>\n${[instructions, sentence].filter(Boolean).join(' ')}\n\nMeeting: ${meeting}\n</prompt>`;
}
