import { createFileRoute } from "@tanstack/react-router";
import { DeliveryPage } from "~/features/listeners/delivery-page";
import { deliveryQuery, webhookQuery } from "~/features/listeners/queries";

export const Route = createFileRoute("/_app/webhooks/$id_/deliveries/$delivery")({
  loader: ({ context: { queryClient }, params: { id, delivery } }) =>
    Promise.all([
      queryClient.ensureQueryData(webhookQuery(id)),
      queryClient.ensureQueryData(deliveryQuery(id, delivery)),
    ]),
  component: Delivery,
});

function Delivery() {
  const { id, delivery } = Route.useParams();
  return <DeliveryPage key={delivery} webhook={id} id={delivery} />;
}
