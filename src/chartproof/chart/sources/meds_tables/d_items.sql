select itemid, label, "table" as linksto, unit as unitname from items where "table" <> 'labevents'
