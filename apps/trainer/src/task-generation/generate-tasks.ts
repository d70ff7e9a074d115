import { AgentLightningError } from '@agentlightning/core';
import type { EnvironmentFactory } from '@agentlightning/environments';
import pMap from 'p-map';
import type { ModelPlayer, PlayedCall, PlayedEpisode } from './model-player.ts';
import {
  attemptPrompt,
  guessPrompt,
  promptVersion,
  proposalPrompt,
  proposalRequest,
  questionsOf,
} from './task-prompts.ts';

/** A task with an answer that a comparison of texts checks. */
export interface GeneratedTask {
  readonly question: string;
  readonly answer: string;
  readonly difficulty: {
    /** Share of the attempts with this answer: 1 for all. */
    readonly solveRate: number;
    /** Tool calls of the shortest attempt with it. */
    readonly toolCalls: number;
  };
  readonly provenance: {
    readonly server: string;
    readonly model: string;
    readonly promptVersion: number;
    readonly attempts: number;
    /** The calls of the shortest attempt with the answer. */
    readonly calls: readonly PlayedCall[];
  };
}

/** Why proposed questions became no tasks, by number. */
export interface DroppedQuestions {
  /** It exists already. */
  readonly duplicate: number;
  /** Too few attempts have the same answer: it is ambiguous or too hard. */
  readonly disagreement: number;
  /** The answer was given without the tools. */
  readonly guessed: number;
  /** The answer is too long to be compared. */
  readonly tooLong: number;
}

/** The result of {@link generateTasks}. */
export interface GenerationSummary {
  readonly tasks: number;
  readonly proposed: number;
  readonly dropped: DroppedQuestions;
}

/** Options of {@link generateTasks}. */
export interface GenerationOptions {
  readonly player: ModelPlayer;
  /** The server with its tools. */
  readonly environment: EnvironmentFactory<string, false>;
  /** The same without tools. */
  readonly withoutTools: EnvironmentFactory<string, false>;
  readonly model: string;
  /** Number of tasks. */
  readonly count: number;
  /** Attempts at each question. */
  readonly attempts: number;
  /** Minimum share of attempts with the same answer, above 0.5. */
  readonly agreement: number;
  readonly maxTurns: number;
  /** Number of questions that are attempted at the same time. */
  readonly concurrency: number;
  /** Subject of the questions; null for any. */
  readonly about: string | null;
  /** Receives each task. */
  readonly onTask: (task: GeneratedTask) => Promise<void>;
  readonly onProgress: (summary: GenerationSummary) => void;
}

const [questionsPerProposal, maxEmptyProposals, maxAnswerLength] = [10, 3, 100];

/**
 * Generates tasks from the tools of a server. The model explores the tools and proposes questions; it attempts each several times, in fresh
 * environments, and once without tools. A question becomes a task when enough attempts that called a tool agree on a short answer, which
 * the attempt without tools does not have.
 *
 * It ends with fewer tasks after three proposals in a row without a new task.
 *
 * @throws AgentLightningError VALIDATION when no proposal was a list of questions; what {@link ModelPlayer.play} throws
 */
export async function generateTasks(options: GenerationOptions): Promise<GenerationSummary> {
  const questions: string[] = [];
  const dropped = { duplicate: 0, disagreement: 0, guessed: 0, tooLong: 0 };
  let [tasks, emptyProposals] = [0, 0];
  const summary = (): GenerationSummary => ({
    tasks,
    proposed: questions.length + dropped.duplicate,
    dropped: { ...dropped },
  });
  while (tasks < options.count && emptyProposals < maxEmptyProposals) {
    const before = tasks;
    const proposed = await proposeQuestions(options, questions);
    const fresh = proposed.filter((question) => isNew(question, questions));
    dropped.duplicate += proposed.length - fresh.length;
    await pMap(
      fresh,
      async (question) => {
        if (tasks >= options.count) return;
        const outcome = await attemptQuestion(question, options);
        if (typeof outcome === 'string') dropped[outcome] += 1;
        else if (tasks < options.count) {
          tasks += 1;
          await options.onTask(outcome);
        }
        options.onProgress(summary());
      },
      { concurrency: options.concurrency },
    );
    emptyProposals = tasks > before ? 0 : emptyProposals + 1;
  }
  if (questions.length === 0) throw noQuestions(options.model);
  return summary();
}

async function proposeQuestions(
  { player, environment, maxTurns, about }: GenerationOptions,
  previous: readonly string[],
): Promise<readonly string[]> {
  const request = proposalRequest(questionsPerProposal, previous);
  const { text } = await player.play(environment, request, { system: proposalPrompt({ about }), maxTurns });
  return questionsOf(text);
}

/** Adds a question to those that exist, unless it is one of them. */
function isNew(question: string, questions: string[]): boolean {
  if (questions.some((other) => comparable(other) === comparable(question))) return false;
  questions.push(question);
  return true;
}

/** The task of a question, or why it does not become one. */
async function attemptQuestion(
  question: string,
  options: GenerationOptions,
): Promise<GeneratedTask | keyof DroppedQuestions> {
  const { player, environment, withoutTools, maxTurns, attempts, agreement } = options;
  const needed = Math.max(1, Math.ceil(attempts * agreement - 1e-9));
  const episodes: PlayedEpisode[] = [];
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    episodes.push(await attemptOnce());
    const remaining = attempts - attempt - 1;
    // The rest cannot change the outcome.
    if (mostAgreed(episodes).length + remaining < needed) return 'disagreement';
  }
  const agreed = mostAgreed(episodes).toSorted((one, other) => one.calls.length - other.calls.length);
  const [shortest] = agreed;
  if (shortest === undefined) return 'disagreement';
  const answer = shortest.text.trim();
  if (answer.length > maxAnswerLength) return 'tooLong';
  const guess = await player.play(withoutTools, question, { system: guessPrompt, maxTurns: 1 });
  if (comparable(guess.text) === comparable(answer)) return 'guessed';
  return {
    question,
    answer,
    difficulty: { solveRate: agreed.length / attempts, toolCalls: shortest.calls.length },
    provenance: { server: environment.name, model: options.model, promptVersion, attempts, calls: shortest.calls },
  };

  /** A broken environment is an attempt without an answer. */
  async function attemptOnce(): Promise<PlayedEpisode> {
    try {
      return await player.play(environment, question, { system: attemptPrompt, maxTurns });
    } catch (error) {
      if (AgentLightningError.isInstance(error) && error.code === 'ENVIRONMENT_FAILED') return { text: '', calls: [] };
      throw error;
    }
  }
}

/** The episodes with the most frequent answer, of those that used a tool. */
function mostAgreed(episodes: readonly PlayedEpisode[]): readonly PlayedEpisode[] {
  const answered = episodes.filter(({ text, calls }) => comparable(text) !== '' && calls.length > 0);
  const byAnswer = [...Map.groupBy(answered, ({ text }) => comparable(text)).values()];
  return byAnswer.reduce((most, group) => (group.length > most.length ? group : most), []);
}

/** A text in the form in which `exact` of `@agentlightning/rewards` compares it by default. */
function comparable(text: string): string {
  return text.normalize('NFKC').trim().replaceAll(/\s+/g, ' ').toLowerCase();
}

function noQuestions(model: string): AgentLightningError {
  return new AgentLightningError({
    code: 'VALIDATION',
    message: `model ${model} proposed no question: none of its ${maxEmptyProposals} replies was a JSON list of texts`,
    remedy: 'Use a stronger model, or offer fewer tools with --tool.',
  });
}
