import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * The program of a thread: a source beside sources, and a file of its own beside what the package is built to.
 *
 * @param url - of the module that starts it
 * @param name - its file, without the ending
 */
export function programBeside(url: string, name: string): URL {
  return new URL(`./${name}${url.endsWith('.ts') ? '.ts' : '.js'}`, url);
}

/** Starts a thread. @throws Error of Node where a process may not have threads */
export function newThread(program: URL, options: WorkerOptions = {}): Worker {
  // Sources import sources.
  const source = program.pathname.endsWith('.ts') ? { execArgv: ['--conditions=@agentlightning/source'] } : {};
  return new Worker(program, { ...source, ...options });
}
