import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { RolloutDetail, SpanView } from '../../src/api/rollout-views.ts';
import { curlCommand } from '../data/curl-command.ts';
import { indentedJson } from '../data/format.ts';
import { spanQuery } from '../data/queries.ts';
import { CallSelect } from '../parts/call-select.tsx';
import { QueryView } from '../parts/notice.tsx';

/** The raw request and response of a model call. */
export function RawView({ detail }: { readonly detail: RolloutDetail }): ReactNode {
  return (
    <CallSelect detail={detail}>
      {({ spanId }, attemptId) => (
        <RawCall key={spanId} address={{ rolloutId: detail.rollout.rolloutId, attemptId, spanId }} />
      )}
    </CallSelect>
  );
}

function RawCall({ address }: { readonly address: Parameters<typeof spanQuery>[0] }): ReactNode {
  return (
    <QueryView query={useQuery(spanQuery(address))}>
      {(span) => (
        <>
          <RawBody title="Request" text={span.requestBody}>
            {span.requestBody === null ? null : <CopyButton label="Copy as curl" text={curlCommand(span)} />}
          </RawBody>
          <RawBody title="Response" text={span.responseBody}>
            {span.responseBody === null ? null : <CopyButton label="Copy response" text={span.responseBody} />}
          </RawBody>
          <Attributes span={span} />
        </>
      )}
    </QueryView>
  );
}

function RawBody(props: {
  readonly title: string;
  readonly text: string | null;
  readonly children: ReactNode;
}): ReactNode {
  const { title, text, children } = props;
  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      {children}
      <pre className="foreign">{text === null ? 'Not captured.' : indentedJson(text)}</pre>
    </section>
  );
}

function Attributes({ span }: { readonly span: SpanView }): ReactNode {
  return (
    <section className="panel" aria-label="Attributes">
      <h2>Attributes</h2>
      <details>
        <summary>{`Show ${Object.keys(span.attributes).length} attributes of ${span.spanId} (${span.status})`}</summary>
        <pre className="foreign">{JSON.stringify(span.attributes, null, 1)}</pre>
      </details>
    </section>
  );
}

function CopyButton({ label, text }: { readonly label: string; readonly text: string }): ReactNode {
  const [result, setResult] = useState<string | null>(null);
  const copy = (): void =>
    void navigator.clipboard.writeText(text).then(
      () => setResult('Copied'),
      () => setResult('The browser refused access to the clipboard'),
    );
  return (
    <p>
      <button type="button" onClick={copy}>
        {label}
      </button>{' '}
      <span role="status" className="muted">
        {result}
      </span>
    </p>
  );
}
