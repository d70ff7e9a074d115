import { defaultProject } from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import type { ProjectStores } from '../projects/project-stores.ts';
import type { SqlStore } from '../sql-store.ts';
import type { StoreMetrics } from './observation/store-metrics.ts';

/** The application of a project with its metrics. */
export interface ProjectApp {
  readonly app: Hono;
  readonly metrics: StoreMetrics;
}

/** The applications of the projects of a server, created at their first request. */
export class ProjectApps {
  readonly #projects: Pick<ProjectStores, 'store'>;
  readonly #create: (project: string, store: SqlStore) => ProjectApp;
  readonly #apps = new Map<string, ProjectApp>();
  readonly #main: ProjectApp;

  constructor(options: {
    readonly main: SqlStore;
    readonly projects: Pick<ProjectStores, 'store'>;
    readonly create: (project: string, store: SqlStore) => ProjectApp;
  }) {
    this.#projects = options.projects;
    this.#create = options.create;
    this.#main = options.create(defaultProject, options.main);
    this.#apps.set(defaultProject, this.#main);
  }

  /** @throws NotFoundError for an unknown project */
  async of(project: string): Promise<ProjectApp> {
    const known = this.#apps.get(project);
    if (known !== undefined) return known;
    const store = await this.#projects.store(project);
    const app = this.#apps.get(project) ?? this.#create(project, store);
    this.#apps.set(project, app);
    return app;
  }

  /** The application of a project that had a request; that of the default project for others. */
  opened(project: string): ProjectApp {
    return this.#apps.get(project) ?? this.#main;
  }
}
