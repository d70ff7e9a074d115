/**
 * Two simulated language models. `clerk` knows nothing of the desk: it compares words. It calls the tool whose description, and
 * whose sentences in the instructions, have most words in common with the message, and gives a message the code of the most
 * similar example or rule; otherwise it guesses. `editor` reads how the clerk did, and adds a sentence about each message that
 * went wrong.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import type { ScriptedReply, ScriptedRequest } from '@agentlightning/example-scripted-endpoint';

/** The models by name: `editor`, and any other. */
export function respond(request: ScriptedRequest): ScriptedReply {
  return request.model === 'editor' ? { content: edit(request) } : work(request);
}

function work({ messages, tools, toolDescriptions }: ScriptedRequest): ScriptedReply {
  const system = messages.find(({ role }) => role === 'system')?.content ?? '';
  const message = messages.find(({ role }) => role === 'user')?.content ?? '';
  const isLookedUp = messages.some(({ role }) => role === 'tool');
  if (!isLookedUp) {
    const number = /\d{4,}/.exec(message)?.[0] ?? '';
    const texts = tools.map((name, index) => `${toolDescriptions[index]} ${sentencesAbout(name, system)}`);
    const best = mostSimilar(message, texts);
    const name = tools[best ?? guess([system, message, ...toolDescriptions].join('\n'), tools.length)] ?? '';
    return { call: { name, arguments: { number } } };
  }
  return { content: codeOf(message, system) };
}

/** The sentences of the instructions that name a tool. */
function sentencesAbout(name: string, system: string): string {
  return system
    .split(/\.\s/)
    .filter((sentence) => sentence.includes(name))
    .join(' ');
}

function codeOf(message: string, system: string): string {
  const shown = [...system.matchAll(/^Message: (.*)\nCode: (\S+)$/gm)];
  const rules = [...system.matchAll(/"([^"]+)" has the code (\w+)/g)];
  const known = [...shown, ...rules];
  const nearest = mostSimilar(
    message,
    known.map(([, text = '']) => text),
  );
  if (nearest !== null) return known[nearest]?.[2] ?? '';
  const [, list = ''] = /codes ([\w, ]+) and/.exec(system) ?? [];
  const codes = list.split(', ');
  return codes[guess(`${system}\n${message}`, codes.length)] ?? '';
}

/** The index of the text with most words of the message, the first of several; null when none has one. */
function mostSimilar(message: string, texts: readonly string[]): number | null {
  const words = wordsOf(message);
  const shared = texts.map((text) => [...wordsOf(text)].filter((word) => words.has(word)).length);
  const most = Math.max(0, ...shared);
  return most === 0 ? null : shared.indexOf(most);
}

/** The words that may say what a text is about: of five letters or more, and without an ending. */
function wordsOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[a-z]{5,}/g) ?? [];
  return new Set(words.map((word) => word.replace(/(ing|ed|es|s)$/, '')));
}

/** As a language model at a temperature: another text gets another guess. */
function guess(text: string, choices: number): number {
  return createHash('sha256').update(text).digest().readUInt32BE() % Math.max(1, choices);
}

/** Adds a sentence about each message that went wrong. */
function edit({ messages }: ScriptedRequest): string {
  const text = messages.map(({ content }) => content).join('\n');
  const [, subject = '', name = '', prompt = ''] =
    /The (prompt|description of the tool) "(\w+)":\n\n([\s\S]*?)\n\nWhat /.exec(text) ?? [];
  const attempts = [...text.matchAll(/^Task: (\{.*\})[\s\S]*?(?=^Task: |$(?![\s\S]))/gm)];
  const sentences = attempts.flatMap(([attempt, task = '{}']) => {
    const { message = '' } = JSON.parse(task) as { message?: string };
    const about = longestClause(message);
    const [, tool] = /expected (find_\w+), got/.exec(attempt) ?? [];
    const [, code] = /expected the code (\w+), got/.exec(attempt) ?? [];
    if (subject !== 'prompt') return tool === name ? [`Use it for "${about}".`] : [];
    return [
      ...(tool === undefined ? [] : [`Call ${tool} for "${about}".`]),
      ...(code === undefined ? [] : [`"${about}" has the code ${code}.`]),
    ];
  });
  return `<prompt>\n${[...new Set([prompt, ...sentences.filter((sentence) => !prompt.includes(sentence))])].join(' ')}\n</prompt>`;
}

/** The part of a message that may say what it is about. */
function longestClause(message: string): string {
  const clauses = message.split(/[,.:?!]/).map((clause) => clause.trim());
  return clauses.reduce((longest, clause) => (clause.length > longest.length ? clause : longest), '');
}
