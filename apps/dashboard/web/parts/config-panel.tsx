import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { RunDetail } from '../../src/api/run-views.ts';
import { configDifferences } from '../data/config-differences.ts';
import { runQuery, runsQuery } from '../data/queries.ts';
import { QueryView } from './notice.tsx';
import { ScrollRegion } from './scroll-region.tsx';

/** The configuration of a run, and its differences from that of another run. */
export function ConfigPanel(props: {
  readonly run: RunDetail;
  /** The other run; null for none. */
  readonly against: string | null;
  readonly onCompare: (runId: string | null) => void;
}): ReactNode {
  const { run, against, onCompare } = props;
  const { data: runs } = useQuery(runsQuery());
  const others = (runs?.items ?? []).filter(({ runId }) => runId !== run.runId);
  return (
    <section className="panel" aria-labelledby="config-title">
      <h2 id="config-title">Configuration</h2>
      <div className="filters">
        <label>
          Compare with run
          <select value={against ?? ''} onChange={({ target }) => onCompare(target.value || null)}>
            <option value="">None</option>
            {others.map(({ runId, name }) => (
              <option key={runId} value={runId}>{`${name} (${runId})`}</option>
            ))}
          </select>
        </label>
      </div>
      {against === null ? null : <Differences run={run} against={against} />}
      <details>
        <summary>Show all</summary>
        <pre className="foreign">{JSON.stringify(run.config, null, 2)}</pre>
      </details>
    </section>
  );
}

function Differences({ run, against }: { readonly run: RunDetail; readonly against: string }): ReactNode {
  return (
    <QueryView query={useQuery(runQuery(against))}>
      {(other) => {
        const { name } = other;
        return (
          <ConfigTable
            runs={[
              { name: 'This run', config: run.config },
              { name, config: other.config },
            ]}
          />
        );
      }}
    </QueryView>
  );
}

/** The settings that differ between runs. */
export function ConfigTable({ runs }: { readonly runs: readonly Pick<RunDetail, 'name' | 'config'>[] }): ReactNode {
  const differences = configDifferences(runs.map(({ config }) => config));
  if (differences.length === 0) return <p className="muted">The configurations are equal.</p>;
  return (
    <ScrollRegion label="Differences of the configurations">
      <table>
        <thead>
          <tr>
            <th scope="col">Setting</th>
            {runs.map(({ name }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the runs of a comparison have an order
              <th key={index} scope="col" className="foreign">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {differences.map(({ path, values }) => (
            <tr key={path}>
              <th scope="row" className="mono foreign">
                {path}
              </th>
              {values.map((value, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the runs of a comparison have an order
                <td key={index} className="mono foreign setting">
                  {value ?? '–'}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
