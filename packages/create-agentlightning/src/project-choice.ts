import type { Framework } from './frameworks.ts';
import type { Goal } from './goals.ts';

/** Choices for a new project. */
export interface ProjectChoice {
  /** The name of the package: that of its folder. */
  readonly name: string;
  /** The framework of the agent. */
  readonly framework: Framework;
  /** What the project is for. */
  readonly goal: Goal;
}
