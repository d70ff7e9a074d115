import { NotFoundError } from '@agentlightning/core';
import { defaultProject } from '@agentlightning/core/protocol';
import { type OpenStoreOptions, openDriver, openStore } from '../open-store.ts';
import type { SqlStore } from '../sql-store.ts';
import { projectLocation, projectSchema } from './project-location.ts';

/** The stores of the projects of a server. */
export interface ProjectStores {
  /** The store of the default project, which also has the keys of all projects. */
  readonly main: SqlStore;
  /** The names of all projects, the default one first. A project exists from its first key on. */
  names(): Promise<readonly string[]>;
  /**
   * The store of a project, opened at its first use.
   *
   * @throws NotFoundError
   */
  store(project: string): Promise<SqlStore>;
  /** Closes all of them. */
  close(): Promise<void>;
}

/**
 * Opens the stores of all projects of a server. Each project has a separate store, in a file or a schema: what one
 * project contains cannot appear in an operation of another.
 *
 * @param location - as for {@link openStore}: the store of the default project
 * @example
 * ```ts
 * const projects = await openProjectStores('sqlite:./run/agl.db');
 * const { key } = await projects.main.createAccessKey({ name: 'a team', role: 'trainer', project: 'search' });
 * const server = await createStoreServer({ store: projects.main, projects });
 * ```
 */
export async function openProjectStores(location: string, options: OpenStoreOptions = {}): Promise<ProjectStores> {
  const main = await openStore(location, options);
  const opened = new Map<string, Promise<SqlStore>>([[defaultProject, Promise.resolve(main)]]);
  const open = async (project: string): Promise<SqlStore> => {
    if (!(await main.projectNames()).includes(project)) throw new NotFoundError('Project', project);
    const schema = projectSchema(location, project);
    if (schema !== null) await createSchema(schema, location, options);
    return await openStore(projectLocation(location, project), options);
  };
  return {
    main,
    names: () => main.projectNames(),
    store: (project) => {
      const known = opened.get(project);
      if (known !== undefined) return known;
      const opening = open(project);
      opened.set(project, opening);
      opening.catch(() => opened.delete(project));
      return opening;
    },
    close: async () => {
      const stores = await Promise.allSettled([...opened.values()].reverse());
      for (const store of stores) if (store.status === 'fulfilled') await store.value.close();
    },
  };
}

/** Creates a schema of a PostgreSQL database, unless it exists. */
async function createSchema(schema: string, location: string, options: OpenStoreOptions): Promise<void> {
  const driver = await openDriver(location, { ...options, poolSize: 1 });
  try {
    await driver.write(async (connection) => {
      // Concurrent statements would conflict.
      if (driver.dialect.lockSchema !== null) await connection.all(driver.dialect.lockSchema);
      await connection.run(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
    });
  } finally {
    await driver.close();
  }
}
