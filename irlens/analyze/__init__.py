"""Facts from parsed stages: control flow, pipelines, occupancy, instruction mix."""
