import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { StockTask } from './agent.ts';

/** What the agent returns: the parts that it looked up, in order, and its answer. */
export interface StockOutput {
  readonly lookedUp: readonly unknown[];
  readonly answer: string | null;
}

/** The criteria of a right rollout, and whether they are met. */
export function criteriaMet({ route, answer }: StockTask, output: StockOutput): Readonly<Record<string, boolean>> {
  let found = 0;
  for (const part of output.lookedUp) if (part === route[found]) found += 1;
  return {
    'looks up the part': found >= 1,
    'looks up its new number': found >= 2,
    'looks up the last number': found >= route.length && found > 0,
    'answers with its count': output.answer?.trim() === answer,
  };
}

/** The true reward: the share of criteria that are met. */
export function truth(task: StockTask, output: StockOutput): number {
  const met = Object.values(criteriaMet(task, output));
  return met.filter(Boolean).length / met.length;
}

/** What `rubric` and `ruler` send, beside their prompts. */
interface Material {
  readonly task: StockTask;
  readonly output: StockOutput;
  readonly trajectories?: readonly { readonly id: string; readonly output: StockOutput }[];
}

/** The wrong verdicts of a {@link ScriptedJudge}. */
export interface ScriptedErrors {
  readonly wrongShare: number;
  /** Whether a whole verdict is inverted, or each criterion separately. */
  readonly unit: 'verdict' | 'criterion';
  readonly seed: number;
}

/** An OpenAI-compatible endpoint that knows the truth, and gives a share of wrong verdicts. */
export class ScriptedJudge implements AsyncDisposable {
  readonly #server: Server;
  readonly #options: ScriptedErrors;
  #calls = 0;

  private constructor(options: ScriptedErrors) {
    this.#options = options;
    this.#server = createServer(async (request, response) => {
      this.#calls += 1;
      const { messages } = JSON.parse(await text(request)) as {
        readonly messages: readonly { readonly content: string }[];
      };
      const prompt = messages.at(-1)?.content ?? '';
      const material = JSON.parse(prompt) as Material;
      const verdict = material.trajectories === undefined ? this.#grade(material, prompt) : rank(material);
      const choices = [{ message: { role: 'assistant', content: JSON.stringify(verdict) } }];
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ choices }));
    });
  }

  /** Starts the endpoint on a free port. */
  static async start(options: ScriptedErrors): Promise<ScriptedJudge> {
    const judge = new ScriptedJudge(options);
    await new Promise<void>((resolve) => judge.#server.listen(0, '127.0.0.1', resolve));
    return judge;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  get calls(): number {
    return this.#calls;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The criteria, which are inverted in a share of the cases: always the same for the same output. */
  #grade({ task, output }: Material, prompt: string): object {
    const { wrongShare, unit, seed } = this.#options;
    const criteria = Object.entries(criteriaMet(task, output)).map(([name, isMet]) => {
      const digest = createHash('sha256')
        .update(`${seed}/${unit === 'criterion' ? name : ''}/${prompt}`)
        .digest();
      const isWrong = digest.readUInt32BE(0) / 2 ** 32 < wrongShare;
      return { name, reason: isWrong ? 'a wrong verdict' : 'the truth', score: isMet === isWrong ? 0 : 1 };
    });
    return { criteria };
  }
}

/** Scores by the rank among the siblings; equal ones have equal scores. */
function rank({ task, trajectories = [] }: Material): object {
  const values = trajectories.map(({ output }) => truth(task, output));
  const scores = trajectories.map(({ id }, index) => ({
    id,
    explanation: 'by its rank',
    score: values.filter((value) => value < (values[index] ?? 0)).length / Math.max(1, values.length - 1),
  }));
  return { scores };
}
