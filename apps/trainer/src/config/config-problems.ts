import { AgentLightningError } from '@agentlightning/core';

/** Collects the problems of a configuration, to report all of them at once. */
export class ConfigProblems {
  readonly #found: Map<string, AgentLightningError> = new Map();

  /** Runs a check; undefined when it failed. A problem that two checks find is reported once. */
  check<TChecked>(run: () => TChecked): TChecked | undefined {
    try {
      return run();
    } catch (error) {
      if (!AgentLightningError.isInstance(error)) throw error;
      this.#found.set(error.message, error);
      return undefined;
    }
  }

  /** As {@link check}, for a check that waits. */
  async checkAsync<TChecked>(run: () => Promise<TChecked>): Promise<TChecked | undefined> {
    try {
      return await run();
    } catch (error) {
      return this.check<undefined>(() => {
        throw error;
      });
    }
  }

  /** The number of failed checks. */
  get count(): number {
    return this.#found.size;
  }

  /** Whether every check so far passed. */
  get isEmpty(): boolean {
    return this.#found.size === 0;
  }

  /** One error for all problems, with the code of the first. `details.issues` has them one by one. */
  error(): AgentLightningError {
    const errors = [...this.#found.values()];
    const [first] = errors;
    if (first !== undefined && errors.length === 1) return first;
    const problems = errors.flatMap((error) => issuesOf(error));
    return new AgentLightningError({
      code: first?.code ?? 'CONFIG',
      message: problems.join('; '),
      remedy: [...new Set(errors.map(({ remedy }) => remedy))].join(' '),
      details: { issues: problems },
      cause: first,
    });
  }

  /** @throws AgentLightningError when a check failed */
  throwIfAny(): void {
    if (!this.isEmpty) throw this.error();
  }
}

/** The problems that one error reports: those of a schema, or its message. */
function issuesOf({ message, details }: AgentLightningError): readonly string[] {
  const text = message.replace(/^\[\w+\] /, '');
  const { issues } = details;
  if (!Array.isArray(issues) || issues.length < 2) return [text];
  // The subject of the issues, such as `algorithm grpo: `, prefixes only the first one.
  const prefix = text.slice(0, text.indexOf(String(issues[0])));
  return issues.map((issue) => `${prefix}${String(issue)}`);
}
