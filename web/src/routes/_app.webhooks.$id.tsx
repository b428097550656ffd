import { createFileRoute } from "@tanstack/react-router";
import { type DeliveryStatus, webhookQuery } from "~/features/listeners/queries";
import { WebhookPage } from "~/features/listeners/webhook-page";

const STATES: readonly DeliveryStatus[] = ["queued", "delivered", "failed"];

export const Route = createFileRoute("/_app/webhooks/$id")({
  validateSearch: (given: Record<string, unknown>): { status?: DeliveryStatus } => {
    const status = STATES.find((each) => each === given.status);
    return status === undefined ? {} : { status };
  },
  loader: ({ context: { queryClient }, params }) =>
    queryClient.ensureQueryData(webhookQuery(params.id)),
  component: Webhook,
});

function Webhook() {
  const { id } = Route.useParams();
  const { status } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <WebhookPage
      key={id}
      id={id}
      status={status}
      onStatus={(next) =>
        void navigate({ search: next === undefined ? {} : { status: next }, replace: true })
      }
    />
  );
}
