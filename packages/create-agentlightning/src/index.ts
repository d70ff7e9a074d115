export type { Framework } from './frameworks.ts';
export type { Goal } from './goals.ts';
export type { ProjectChoice } from './project-choice.ts';
export { projectFiles } from './project-files.ts';
