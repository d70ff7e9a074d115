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
        const differences = configDifferences(run.config, other.config);
        if (differences.length === 0) return <p className="muted">The configurations are equal.</p>;
        return (
          <ScrollRegion label="Differences of the configurations">
            <table>
              <thead>
                <tr>
                  <th scope="col">Setting</th>
                  <th scope="col">This run</th>
                  <th scope="col" className="foreign">
                    {other.name}
                  </th>
                </tr>
              </thead>
              <tbody>
                {differences.map(({ path, value, other: theirs }) => (
                  <tr key={path}>
                    <th scope="row" className="mono foreign">
                      {path}
                    </th>
                    <td className="mono foreign">{value ?? '–'}</td>
                    <td className="mono foreign">{theirs ?? '–'}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </ScrollRegion>
        );
      }}
    </QueryView>
  );
}
