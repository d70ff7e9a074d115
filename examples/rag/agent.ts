/**
 * Answers questions about films: it searches an index, and answers with the document that it cites.
 *
 * An ordinary agent on the OpenAI Agents SDK. Nothing in this file is about training.
 *
 * @module
 */
import { Agent, type RunContext, run, tool } from '@openai/agents';
import { z } from 'zod';
import { type Film, resultText, searchFilms } from './film-index.ts';

/** What the search of a run has found. */
interface Sources {
  films: readonly Film[];
}

const search = tool({
  name: 'search',
  description: 'Finds films by words.',
  parameters: z.object({ words: z.string() }),
  execute: ({ words }, sources?: RunContext<Sources>) => {
    const films = searchFilms(words);
    if (sources !== undefined) sources.context.films = films;
    return resultText(films);
  },
});

const filmExpert = new Agent<Sources>({
  name: 'Film expert',
  instructions: 'You know films.',
  model: 'gpt-4.1-mini',
  tools: [search],
});

/** An answer, such as `Horror [1]`, and the documents that it may cite. */
export interface Answer {
  readonly text: string;
  readonly sources: readonly Film[];
}

/** Answers a question. */
export async function answerQuestion(question: string): Promise<Answer> {
  const context: Sources = { films: [] };
  const { finalOutput } = await run(filmExpert, question, { context, maxTurns: 2 });
  return { text: finalOutput ?? '', sources: context.films };
}
