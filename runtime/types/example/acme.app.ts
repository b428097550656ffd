import { axios } from "@pipedream/platform";
import { defineApp } from "@pipedream/types";

export default defineApp({
  type: "app",
  app: "acme",
  propDefinitions: {
    projectId: {
      type: "string",
      label: "Project",
      async options({ page }) {
        const projects: { id: string; name: string }[] = await this.projects(page);
        return projects.map(({ id, name }) => ({ label: name, value: id }));
      },
    },
    limit: { type: "integer", label: "Limit", optional: true, min: 1 },
  },
  methods: {
    baseUrl(): string {
      return `https://${this.$auth.domain}/api`;
    },
    async projects(page: number): Promise<{ id: string; name: string }[]> {
      return await axios(this, { url: `${this.baseUrl()}/projects`, params: { page }, headers: { Authorization: `Bearer ${this.$auth.api_key}` } });
    },
  },
});
